"""`RestrictedInterpreter`: the sandbox as DSPy's `CodeInterpreter`, and as a session with typed outcomes."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from dspy.primitives.code_interpreter import FinalOutput

from dspy_rlm.errors import CellFailedError, SandboxError, SandboxUnavailableError, UsageError

from .launch import zygote_for
from .outcomes import Outcome, Ran, Refused, Submitted
from .rendering import render
from .running import CellRun, OnSubmit
from .session import HostSession

_RESERVED = frozenset({"SUBMIT", "FINAL", "FINAL_VAR", "__builtins__", "__name__", "__doc__"})


class RestrictedInterpreter:
    """Runs cells of Python behind a RestrictedPython policy, in a walled-off process of their own.

    Implements DSPy's `CodeInterpreter` protocol, so that it serves `dspy.RLM`, `dspy.ProgramOfThought` and
    `dspy.CodeAct`, and is a context manager. Needs Linux. A cell that runs too long, takes too much memory or crashes is
    rolled back; the session and its variables live on.

    Args:
        tools: Host functions that cells may call, by name. Default: none.
        output_fields: What `SUBMIT` takes, as DSPy tells interpreters: dicts with a `name`. Default: one value.
        cell_timeout: Seconds that a cell may run, the host's own time for answering its calls not counted. Default: 60.
        memory_limit: Bytes of memory above the inputs. Default: 4 GiB.
        max_output_chars: Characters kept of what one cell prints, head and tail. Default: 10,000.
        extra_modules: Packages that cells may import besides the allowed part of the standard library. Default: none.
        on_submit: Called with the arguments of `SUBMIT`, as a tuple and a dict; returns the value to submit, or raises
            to refuse it. Default: as `output_fields` says.
        require_isolation: Refuse to start where a part of the outer wall is missing, rather than warn. Default: False.

    Raises:
        UsageError: An argument cannot work.

    Example:
        >>> with RestrictedInterpreter() as interpreter:
        ...     interpreter.execute("x = 6\\nx * 7")
        '42'
    """

    execution_instructions = (
        "Code runs as Python in a sandbox that keeps its variables from cell to cell. A trailing expression is shown as in "
        "a notebook. Most of the standard library that needs no files, network or processes can be imported; eval, exec, "
        "open and attributes with double underscores are not available. Host tools and SUBMIT are global functions."
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
    ) -> None:
        for name, value in (
            ("cell_timeout", cell_timeout),
            ("memory_limit", memory_limit),
            ("max_output_chars", max_output_chars),
        ):
            if value <= 0:
                raise UsageError(f"{name} must be more than 0, got {value!r}")
        self.tools: dict[str, Callable[..., Any]] = dict(tools or {})
        self.output_fields = None if output_fields is None else [dict(field) for field in output_fields]
        self.on_submit = on_submit
        self.max_output_chars = max_output_chars
        self._cell_timeout = cell_timeout
        self._memory_limit = memory_limit
        self._extra_modules = tuple(extra_modules)
        self._require_isolation = require_isolation
        self._session: HostSession | None = None
        self._ended = False
        self._cells = 0
        self._bound: dict[str, Any] = {}
        _check_names(self.tools, "tool")

    def start(self) -> None:
        """Start the session; it takes about a millisecond, the first in a program a few hundred.

        Raises:
            SandboxUnavailableError: The sandbox cannot be started on this system.
            SandboxError: The session was shut down before.
        """
        self._running()

    def bind(self, values: Mapping[str, Any]) -> None:
        """Make values variables of the session; they are set again before every cell.

        Args:
            values: By name. A callable becomes a function that runs here on the host; a `pathlib.Path` the text of that
                file; pydantic models and dataclasses become dicts.

        Raises:
            UsageError: A name cannot be a variable.
            TypeError: A value cannot go into the sandbox.
        """
        _check_names(values, "variable")
        self._running().bind(values)
        self._bound.update(values)

    def run_cell(self, code: str) -> Outcome:
        """Run one cell.

        Args:
            code: Its Python.

        Returns:
            What became of it.

        Raises:
            SandboxError: The session is over, because it failed or was shut down.
        """
        session = self._running()
        self._cells += 1
        run = CellRun(session, self._cells, self._cell_timeout, self._memory_limit, self.on_submit or self._accept)
        with session.exclusive():
            return run.run(code)

    def execute(self, code: str, variables: dict[str, Any] | None = None) -> Any:
        """Run one cell, as DSPy's modules want it.

        Args:
            code: Its Python.
            variables: Variables to set before.

        Returns:
            What it showed, None when nothing, or a `FinalOutput` when it submitted.

        Raises:
            SyntaxError: The code is not valid Python.
            CellFailedError: The cell was refused, raised, or was rolled back; the session lives on.
            SandboxError: The session is over.
        """
        session = self._running()
        _check_names(self.tools, "tool")
        self._bind_tools(session)
        if changed := {name: value for name, value in (variables or {}).items() if self._is_new(name, value)}:
            self.bind(changed)
        outcome = self.run_cell(code)
        match outcome:
            case Submitted(value=value):
                return FinalOutput(value)
            case Ran():
                return render(outcome) or None
            case Refused(kind="syntax"):
                raise SyntaxError(render(outcome))
        raise CellFailedError(render(outcome))

    def shutdown(self) -> None:
        """End the session; any thread may, also while a cell runs, whose `run_cell` then raises `SandboxError`."""
        self._ended = True
        if self._session is not None:
            self._session.close()

    def __call__(self, code: str, variables: dict[str, Any] | None = None) -> Any:
        return self.execute(code, variables)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()

    def _running(self) -> HostSession:
        if self._ended:
            raise SandboxError("this interpreter was shut down: make a new one")
        if self._session is not None:
            return self._session
        zygote = zygote_for(self._extra_modules)
        if self._require_isolation and zygote.missing_walls:
            raise SandboxUnavailableError(f"the sandbox would run without {', '.join(zygote.missing_walls)}")
        config = {
            "max_output_chars": self.max_output_chars,
            "extra_modules": self._extra_modules,
            "memory_limit": self._memory_limit,
        }
        self._session = HostSession(zygote, config)
        self._bind_tools(self._session)
        return self._session

    def _bind_tools(self, session: HostSession) -> None:
        """Bring the functions in the sandbox up to `tools`, which DSPy's modules change as they go."""
        gone = [name for name, value in self._bound.items() if _is_tool(value) and name not in self.tools]
        if gone:
            session.unbind(gone)
            for name in gone:
                del self._bound[name]
        new = {name: tool for name, tool in self.tools.items() if not _same_tool(self._bound.get(name), tool)}
        if new:
            session.bind(new)
            self._bound.update({name: _Tool(tool) for name, tool in new.items()})

    def _is_new(self, name: str, value: Any) -> bool:
        """Say whether a variable must be sent: texts and numbers that went in once are there still."""
        unchanged = name in self._bound and self._bound[name] is value
        return not (unchanged and isinstance(value, str | bytes | int | float | bool | None))

    def _accept(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Take a submission by `output_fields`, as DSPy's own interpreters do."""
        if self.output_fields is None:
            if len(args) != 1 or kwargs:
                raise TypeError("SUBMIT takes one value")
            return {"output": args[0]}
        names = [field["name"] for field in self.output_fields]
        values = {**dict(zip(names, args, strict=False)), **kwargs}
        if set(values) != set(names) or len(args) + len(kwargs) != len(names):
            raise TypeError(
                f"SUBMIT takes {', '.join(names)}, each once; it was given {', '.join(values) or 'nothing'}"
            )
        return values


class _Tool:
    """Marks what `tools` has bound, beside what `bind` has."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function


def _is_tool(value: Any) -> bool:
    return isinstance(value, _Tool)


def _same_tool(bound: Any, tool: Callable[..., Any]) -> bool:
    return isinstance(bound, _Tool) and bound.function is tool


def _check_names(values: Mapping[str, Any], kind: str) -> None:
    for name in values:
        valid = isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)
        if not valid or name in _RESERVED:
            raise UsageError(f"{name!r} cannot be the name of a {kind} in the sandbox: rename it")
