"""`RestrictedInterpreter`: a sandbox session as DSPy's `CodeInterpreter`, and as the loop of an RLM uses it."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from dspy.primitives.code_interpreter import FinalOutput
from dspy.utils.callback import BaseCallback, with_callbacks

from dspy_rlm.errors import CellFailedError, SandboxError, UsageError

from .launch import zygote_for
from .outcomes import Outcome, Ran, Refused, Submitted
from .rendering import render
from .session import SUBMIT, HostSession

OnSubmit = Callable[[tuple[Any, ...], Mapping[str, Any]], Any]
_OWN_NAMES = frozenset({SUBMIT, "FINAL", "FINAL_VAR", "print"})


class RestrictedInterpreter:
    """A Python sandbox: RestrictedPython in a worker process, every cell a transaction.

    Implements DSPy's `CodeInterpreter` protocol, so it also serves `dspy.RLM`, `dspy.ProgramOfThought` and
    `dspy.CodeAct` as `interpreter_factory`. It starts with its first use, or with `start`.

    Args:
        tools: Host functions by name, which cells may call by position and by name.
        output_fields: What `SUBMIT` takes, as `{"name": ...}` each, when `on_submit` is not given. Default: one value.
        cell_timeout: Seconds of sandbox time a cell may take; what the host spends on its calls is not counted.
            Default: 60.
        memory_limit: Bytes a session may take above its inputs. Default: 4 GiB.
        max_output_chars: Characters kept of what a cell prints, head and tail. Default: 10,000.
        extra_modules: Packages that cells may import besides the allowed part of the standard library, for example
            `("numpy",)`. Native code widens the inner wall; the outer one stays.
        on_submit: Called with the positional and keyword arguments of `SUBMIT` while the cell runs; returns the
            outputs, or raises what the cell then sees. Default: by `output_fields`.
        require_isolation: Refuse to start where a part of the outer wall is missing. Default: False, with a warning.
        callbacks: DSPy callbacks.

    Raises:
        UsageError: A name or a limit cannot work.

    Example:
        >>> with RestrictedInterpreter(tools={"double": lambda x: 2 * x}) as interpreter:
        ...     interpreter.execute("print(double(21))")
        '42'
    """

    execution_instructions = (
        "Code runs as Python in a sandbox. Variables, imports, functions and classes persist for this session. The safe "
        "part of the standard library can be imported; there are no files, no network and no other processes. Host tools "
        "and SUBMIT are global functions. A cell that runs too long is undone."
    )

    def __init__(
        self,
        tools: Mapping[str, Callable[..., Any]] | None = None,
        output_fields: Sequence[Mapping[str, Any]] | None = None,
        *,
        cell_timeout: float = 60.0,
        memory_limit: int = 4 * 2**30,
        max_output_chars: int = 10_000,
        extra_modules: Sequence[str] = (),
        on_submit: OnSubmit | None = None,
        require_isolation: bool = False,
        callbacks: Sequence[BaseCallback] | None = None,
    ) -> None:
        for name, limit in (("cell_timeout", cell_timeout), ("memory_limit", memory_limit), ("max_output_chars", max_output_chars)):
            if limit <= 0:
                raise UsageError(f"{name} must be above 0, got {limit!r}")
        self.tools: dict[str, Callable[..., Any]] = dict(tools or {})
        self.output_fields: Any = None if output_fields is None else [dict(field) for field in output_fields]
        self.cell_timeout = cell_timeout
        self.memory_limit = memory_limit
        self.max_output_chars = max_output_chars
        self.extra_modules = tuple(extra_modules)
        self.on_submit = on_submit
        self.require_isolation = require_isolation
        self.callbacks = list(callbacks or ())
        self._functions: dict[str, Callable[..., Any]] = {}
        self._session: HostSession | None = None
        self._ended = False
        self._cells = 0
        self._sent_texts: dict[str, str] = {}
        self._bound_tools: set[str] = set()
        _check_names(self.tools)

    @with_callbacks
    def start(self) -> None:
        """Start the session; nothing happens when it runs.

        Raises:
            SandboxUnavailableError: This system cannot run it.
            SandboxError: It was shut down.
        """
        self._started()

    def bind(self, values: Mapping[str, Any]) -> None:
        """Make values variables of the session, and functions callable from its cells.

        Args:
            values: By name. Functions stay on the host. Pydantic models and dataclasses become dicts; a `pathlib.Path`
                becomes its file's text, which does not pass through this process.

        Raises:
            UsageError: A name or a value cannot go into the sandbox.
            SandboxError: The session is lost.
        """
        functions = {name: value for name, value in values.items() if callable(value)}
        data = {name: value for name, value in values.items() if not callable(value)}
        _check_names(values)
        session = self._started()
        try:
            session.bind(data, list(functions))
        except TypeError as error:
            raise UsageError(f"a variable cannot go into the sandbox: {error}") from error
        for name in values:
            self._functions.pop(name, None)
            self._sent_texts.pop(name, None)
        self._functions.update(functions)

    def run_cell(self, code: str) -> Outcome:
        """Run one cell.

        Args:
            code: Python.

        Returns:
            What became of it, typed.

        Raises:
            SandboxError: The session is lost.
        """
        session = self._started()
        self._bind_tools()
        self._cells += 1
        functions = {**self._functions, SUBMIT: self._submit}
        return session.run_cell(self._cells, code, functions, self.cell_timeout)

    @with_callbacks
    def execute(self, code: str, variables: dict[str, Any] | None = None) -> Any:
        """Run one cell as DSPy's protocol has it.

        Args:
            code: Python.
            variables: Set before the cell runs. A text that was sent before and is the same object is not sent again.

        Returns:
            `FinalOutput` when the cell submitted, else the text of what it printed and of its last expression, or None.

        Raises:
            SyntaxError: The cell is no Python.
            CellFailedError: It was refused, raised, or was rolled back; the session goes on.
            UsageError: A variable or tool cannot go into the sandbox.
            SandboxError: The session is lost.
        """
        if not isinstance(code, str):
            raise UsageError(f"code must be a str, got {type(code).__name__}")
        self._bind_variables(dict(variables or {}))
        outcome = self.run_cell(code)
        if isinstance(outcome, Submitted):
            return FinalOutput(outcome.value)
        if isinstance(outcome, Ran):
            return render(Ran(outcome.output, outcome.value)) or None
        if isinstance(outcome, Refused) and outcome.kind == "syntax":
            raise SyntaxError(render(outcome))
        raise CellFailedError(render(outcome))

    def shutdown(self) -> None:
        """End the session and discard its state; any thread may, also while a cell runs, which then raises."""
        self._ended = True
        if self._session is not None:
            self._session.close()

    def __call__(self, code: str, variables: dict[str, Any] | None = None) -> Any:
        """As `execute`."""
        return self.execute(code, variables)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.shutdown()

    def _started(self) -> HostSession:
        if self._ended:
            raise SandboxError("the session was shut down: make a new interpreter")
        if self._session is None:
            zygote = zygote_for(self.extra_modules, require_isolation=self.require_isolation)
            config = {
                "max_output_chars": self.max_output_chars,
                "memory_limit": self.memory_limit,
                "extra_modules": self.extra_modules,
            }
            self._session = HostSession(zygote, config, self.extra_modules)
        return self._session

    def _bind_tools(self) -> None:
        """Follow what was done to `tools` since the last cell."""
        changed = {name: tool for name, tool in self.tools.items() if self._functions.get(name) is not tool}
        removed = [name for name in self._bound_tools if name not in self.tools]
        if changed:
            self.bind(changed)
        if removed:
            self._started().unbind(removed)
            for name in removed:
                self._functions.pop(name, None)
        self._bound_tools = set(self.tools)

    def _bind_variables(self, variables: dict[str, Any]) -> None:
        if clashing := sorted(set(variables) & set(self.tools)):
            raise UsageError(f"the variables {clashing} are tools too: rename them")
        # Only texts can be known to be as they were.
        changed = {n: v for n, v in variables.items() if not isinstance(v, str) or self._sent_texts.get(n) is not v}
        if changed:
            self.bind(changed)
        self._sent_texts.update({n: v for n, v in variables.items() if isinstance(v, str)})

    def _submit(self, *args: Any, **kwargs: Any) -> Any:
        if self.on_submit is not None:
            return self.on_submit(args, kwargs)
        if self.output_fields is None:
            if len(args) != 1 or kwargs:
                raise TypeError("SUBMIT takes one value here")
            return {"output": args[0]}
        names = [str(field["name"]) for field in self.output_fields]
        if len(args) > len(names):
            raise TypeError(f"SUBMIT was given {len(args)} values for {len(names)} outputs: {', '.join(names)}")
        values = {**dict(zip(names, args, strict=False)), **kwargs}
        if set(values) != set(names) or len(args) + len(kwargs) != len(names):
            raise TypeError(f"SUBMIT takes {', '.join(names)}, got {', '.join(values) or 'nothing'}")
        return values


def _check_names(values: Mapping[str, Any]) -> None:
    for name in values:
        if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name) or name.startswith("__"):
            raise UsageError(f"{name!r} cannot be a variable in the sandbox: choose a Python name")
        if name in _OWN_NAMES:
            raise UsageError(f"{name!r} is the sandbox's own function: rename the variable or tool")
