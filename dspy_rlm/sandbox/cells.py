"""Cells: compile one through the policy, run it in a session's namespace, and say what became of it.

Runs inside the worker: nothing here knows of DSPy, hosts or processes.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import random
import sys
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import dataclass
from inspect import CO_COROUTINE
from types import CodeType, ModuleType
from typing import Any

from .builtins_table import make_builtins
from .facades import Importer
from .facades_concurrency import join_threads
from .facades_preload import load_modules, preload
from .formatting import PrintSink, bounded_repr, glimpse
from .formatting_trace import SOURCES, format_trace, message_of, own_frames
from .guards import CELL_FILE, CELL_MODULE
from .outcomes import CellError, Failed, Output, Ran, Refusal, Refused
from .policy import SUBMIT_SIGNAL, VALUE, CellPolicy
from .policy_imports import IMPORT

__all__ = ["Compiled", "Namespace", "SubmitSignal", "compile_cell", "preload", "run_cell"]

load_modules()
_BUILTINS = make_builtins()
_NO_IMPORTS = Importer()
_MISSING: Any = object()
_SET_NAMES = 8  # variables told of a cell that showed nothing, the last set ones
_SET_SHOWN = 80  # characters of each: nobody asked for all of it
_LAST_SHOWN = 300  # characters of the one set last, which is the likeliest to hold what the cell was for


class SubmitSignal(BaseException):
    """Ends the cell after an accepted `SUBMIT`; the submission itself is on record with the host by then."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A cell that the policy admits: its code, its file name, its source lines, and the variables it sets."""

    code: CodeType
    file: str
    lines: list[str]
    sets: tuple[str, ...]


class Namespace:
    """The variables of a session, with its builtins and guards.

    Args:
        max_output_chars: Characters of printed output and of a trailing value that are kept, head and tail.
        extra_modules: Packages opted in besides the allowed part of the standard library, for example `("numpy",)`.

    Raises:
        ImportError: When an extra module is not installed.
    """

    def __init__(self, *, max_output_chars: int = 10_000, extra_modules: Sequence[str] = ()) -> None:
        self.max_output_chars = max_output_chars
        self.importer = Importer(extra_modules) if extra_modules else _NO_IMPORTS
        self.sink = PrintSink(max_output_chars)
        self.variables: dict[str, Any] = {
            "__name__": CELL_MODULE,
            "__doc__": None,
            "__builtins__": _BUILTINS | {IMPORT: self.importer.load, SUBMIT_SIGNAL: SubmitSignal},
        }
        self._module = ModuleType(CELL_MODULE)
        self._restored: dict[str, Any] = {}
        # Sessions are forks of one zygote, and would else all draw the same numbers.
        random.seed()

    def bind(self, name: str, value: Any) -> None:
        """Set a variable from outside, and set it again after every cell that rebinds or deletes it.

        Args:
            name: The variable's name.
            value: An input, or a host callable.
        """
        self.variables[name] = self._restored[name] = value

    def unbind(self, name: str) -> None:
        """Remove a variable, and no longer restore it; an unknown name is ignored."""
        self.variables.pop(name, None)
        self._restored.pop(name, None)

    def is_bound(self, name: str) -> bool:
        """Say whether a variable was set from outside, so that a cell cannot change what it is."""
        return name in self._restored

    def output(self) -> Output:
        """Give what the current or last cell printed."""
        return self.sink.output()

    def restore(self) -> tuple[str, ...]:
        """Undo what a cell did to the names that are not its own, and give the names it had rebound or deleted."""
        variables = self.variables
        changed = [name for name, value in self._restored.items() if variables.get(name, _MISSING) is not value]
        variables.update({name: self._restored[name] for name in changed})
        if "print" in variables and "print" not in self._restored:
            del variables["print"]
            changed.append("print")
        return tuple(changed)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Send everything printed to the sink, and hide the worker's own `__main__`, while a cell runs."""
        streams = sys.stdout, sys.stderr
        main = sys.modules.get(CELL_MODULE)
        sys.stdout = sys.stderr = self.sink
        sys.modules[CELL_MODULE] = self._module
        try:
            yield
        finally:
            sys.stdout, sys.stderr = streams
            if main is not None:
                sys.modules[CELL_MODULE] = main


def compile_cell(source: str, number: int, namespace: Namespace | None = None) -> Compiled | Refused:
    """Compile a cell through the policy.

    Args:
        source: The model's code.
        number: The cell's number, for its file name in traces.
        namespace: The session it will run in; gives the names that hide absent builtins, and the extra modules.

    Returns:
        The compiled cell, or all that was refused about it.
    """
    file = f"{CELL_FILE}{number}>"
    lines = source.splitlines()
    known: Any = namespace.variables if namespace else ()
    importer = namespace.importer if namespace else _NO_IMPORTS
    try:
        tree = ast.parse(source, file)
        sets = _set_names(tree)
        policy = CellPolicy(lines, known, importer.public_names)
        policy.visit(policy.show_value(tree))
        if policy.refusals:
            return Refused(tuple(policy.refusals))
        return Compiled(
            compile(tree, file, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True),
            file,
            lines,
            sets,
        )
    except SyntaxError as error:
        return _syntax_refusal(error.lineno or 1, error.msg, lines)
    except (RecursionError, MemoryError):
        return _syntax_refusal(
            1,
            "the cell is nested too deeply: split long expressions over several variables",
            lines,
        )
    except UnicodeEncodeError:
        return _syntax_refusal(
            1,
            "the cell holds lone surrogates: write them as escapes inside strings",
            lines,
        )
    except ValueError as error:
        return _syntax_refusal(1, f"{error}: write null characters as \\0 inside strings", lines)


def _set_names(tree: ast.Module) -> tuple[str, ...]:
    """Names of variables that the cell itself sets, the last set last; not those that each round of a loop sets anew."""
    names: dict[str, None] = {}
    for name in _set_by(tree.body):
        names.pop(name, None)
        names[name] = None
    return tuple(names)


def _set_by(statements: Sequence[ast.AST]) -> Iterator[str]:
    for statement in statements:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Assign(targets=targets):
                for target in targets:
                    yield from _target_names(target)
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                yield from _target_names(target)
            case (
                ast.For(body=body, orelse=after)
                | ast.AsyncFor(body=body, orelse=after)
                | ast.While(body=body, orelse=after)
            ):
                # What every round sets anew is left over from the last one; what a condition sets was looked for.
                found = [inner for inner in body if not isinstance(inner, ast.Assign | ast.AnnAssign | ast.AugAssign)]
                yield from _set_by([*found, *after])
            case ast.stmt() | ast.excepthandler() | ast.match_case():
                yield from _set_by(list(ast.iter_child_nodes(statement)))


def _target_names(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=items) | ast.List(elts=items):
            for item in items:
                yield from _target_names(item)


def _syntax_refusal(line: int, reason: str, lines: Sequence[str]) -> Refused:
    text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    return Refused((Refusal(line, text[:500], reason),), "syntax")


def run_cell(compiled: Compiled, namespace: Namespace) -> Ran | Failed:
    """Run a compiled cell.

    Args:
        compiled: What `compile_cell` returned.
        namespace: The session's variables, which the cell changes.

    Returns:
        What it printed and its trailing value, or the exception that left it.

    Raises:
        MemoryError: When the cell used up its memory.
        SubmitSignal: When a submission was accepted.
    """
    SOURCES[compiled.file] = compiled.lines
    namespace.restore()
    namespace.sink.clear()
    shown: Output | None = None
    variables: tuple[tuple[str, Output], ...] = ()
    with namespace.running():
        try:
            value = _execute(compiled.code, namespace.variables)
            if value is not None:
                shown = bounded_repr(value, namespace.max_output_chars)
            elif not namespace.output().length:
                variables = _set_variables(compiled.sets, namespace)
        except (SubmitSignal, MemoryError):
            raise
        except BaseException as error:  # whatever leaves a cell is its outcome
            return Failed(namespace.output(), _cell_error(error), namespace.restore())
        finally:
            join_threads()
    return Ran(namespace.output(), shown, value, variables, namespace.restore())


def _set_variables(names: Sequence[str], namespace: Namespace) -> tuple[tuple[str, Output], ...]:
    own = [name for name in names if name in namespace.variables and not namespace.is_bound(name)]
    held = own[-_SET_NAMES:]
    limits = [_SET_SHOWN] * (len(held) - 1) + [_LAST_SHOWN]
    return tuple(
        (name, glimpse(namespace.variables[name], min(limit, namespace.max_output_chars)))
        for name, limit in zip(held, limits, strict=False)
    )


def _execute(code: CodeType, variables: dict[str, Any]) -> Any:
    try:
        if code.co_flags & CO_COROUTINE:
            # eval, not exec: only it hands over the coroutine of a cell with a top-level await.
            awaited: Coroutine[Any, Any, Any] = eval(code, variables)
            asyncio.run(awaited)
        else:
            exec(code, variables)  # what this module is for; the policy has admitted it
        return variables.get(VALUE)
    finally:
        variables.pop(VALUE, None)


def _cell_error(error: BaseException) -> CellError:
    frames = own_frames(error)
    last = frames[-1] if frames else None
    message = message_of(error)
    if isinstance(error, SystemExit):
        message = "a cell cannot end the session: end the cell by reaching its last line, the task with SUBMIT(...)"
    trace = format_trace(error)
    return CellError(
        type(error).__name__,
        message,
        last and last.line,
        last.text if last else "",
        trace,
    )
