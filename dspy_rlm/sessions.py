"""One run's sandbox session: our own interpreter as it is, any other DSPy interpreter through an adapter."""

from __future__ import annotations

import base64
import dataclasses
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import dspy
from dspy.primitives.code_interpreter import CodeExecutionError, CodeInterpreter, FinalOutput
from dspy.primitives.sandbox_serializable import SandboxSerializable
from pydantic import BaseModel

from dspy_rlm.errors import SubmissionRefusedError, UsageError
from dspy_rlm.reading import decoded
from dspy_rlm.sandbox.outcomes import CellError, Failed, Outcome, Output, Ran, Submitted
from dspy_rlm.sandbox.values import Record, fields_of

InterpreterFactory = Callable[[], CodeInterpreter]
OnSubmit = Callable[[tuple[Any, ...], Mapping[str, Any]], Any]


@runtime_checkable
class Session(Protocol):
    """What the loop needs of an interpreter: typed outcomes, and submissions checked while the cell runs."""

    on_submit: OnSubmit | None

    def start(self) -> None:
        """Start the session."""

    def bind(self, values: Mapping[str, Any]) -> None:
        """Make values and functions variables of the session."""

    def run_cell(self, code: str) -> Outcome:
        """Run one cell."""

    def shutdown(self) -> None:
        """End the session; any thread may, also while a cell runs."""


@dataclasses.dataclass(frozen=True)
class SessionPlan:
    """What a run's session holds.

    Args:
        inputs: The task's inputs by name.
        functions: The functions that cells may call, by name.
        on_submit: Checks a submission and returns the outputs.
        output_fields: Name and type of each output, as DSPy tells interpreters.
        max_output_chars: Characters of one cell's output that are kept.
    """

    inputs: Mapping[str, Any]
    functions: Mapping[str, Callable[..., Any]]
    on_submit: OnSubmit
    output_fields: list[dict[str, str]]
    max_output_chars: int


def open_session(factory: InterpreterFactory, plan: SessionPlan) -> Session:
    """A started session with everything in it.

    Args:
        factory: Makes the interpreter; the caller shuts the session down.
        plan: What goes into it.

    Raises:
        UsageError: the factory made something that is no interpreter, or an input cannot be set up.
        SandboxError: the interpreter cannot start.
    """
    interpreter = factory()
    if isinstance(interpreter, Session):
        session: Session = interpreter
        session.on_submit = plan.on_submit
        if hasattr(session, "max_output_chars"):
            session.max_output_chars = plan.max_output_chars
    elif isinstance(interpreter, CodeInterpreter):
        session = AdaptedSession(interpreter, plan)
    else:
        raise UsageError(f"interpreter_factory must make a CodeInterpreter, it made a {type(interpreter).__name__}")
    try:
        session.start()
        _bind(session, {**plan.functions, **_plain_inputs(plan.inputs)})
        for name, value in plan.inputs.items():
            if isinstance(value, SandboxSerializable):
                _set_up(session, name, value)
    except BaseException:
        session.shutdown()
        raise
    return session


def _bind(session: Session, values: dict[str, Any]) -> None:
    try:
        session.bind(values)
    except TypeError as error:
        raise UsageError(f"the input {error}") from error


def _plain_inputs(inputs: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in inputs.items() if not isinstance(value, SandboxSerializable)}


def _set_up(session: Session, name: str, value: SandboxSerializable) -> None:
    """Make an input by DSPy's own protocol for it: raw data first, then the code that turns them into the value."""
    raw = f"_raw_{name}"
    payload = value.to_sandbox()
    code = [value.sandbox_setup(), value.sandbox_assignment(name, raw)]
    try:
        session.bind({raw: payload.decode("utf-8") if isinstance(payload, bytes) else str(payload)})
    except UnicodeDecodeError:
        session.bind({f"{raw}_base64": base64.b64encode(payload).decode("ascii")})
        code.insert(0, f"import base64\n{raw} = base64.b64decode({raw}_base64)")
    outcome = session.run_cell("\n".join(line for line in code if line))
    if not isinstance(outcome, Ran):
        raise UsageError(f"the input {name!r}, a {type(value).__name__}, cannot be made in this sandbox: {outcome}")


class AdaptedSession:
    """Any DSPy `CodeInterpreter` as a `Session`.

    A submission is checked after its cell has ended, since such an interpreter tells of it only then. Values cross
    as JSON, the widest that every interpreter takes.

    Args:
        interpreter: The interpreter.
        plan: What the session holds.
    """

    def __init__(self, interpreter: CodeInterpreter, plan: SessionPlan) -> None:
        self._interpreter = interpreter
        self._plan = plan
        self.on_submit: OnSubmit | None = plan.on_submit
        if hasattr(interpreter, "output_fields"):
            interpreter.output_fields = plan.output_fields

    def start(self) -> None:
        """Start the interpreter."""
        self._interpreter.start()

    def bind(self, values: Mapping[str, Any]) -> None:
        """Make functions tools of the interpreter, and values variables by one empty cell."""
        functions = {name: _plain_function(value) for name, value in values.items() if callable(value)}
        self._interpreter.tools.update(functions)
        if hasattr(self._interpreter, "_tools_registered"):
            self._interpreter._tools_registered = False  # DSPy's own interpreter looks at new tools only then
        data = {name: _plain(value) for name, value in values.items() if not callable(value)}
        if data:
            self._interpreter.execute("pass", variables=data)

    def run_cell(self, code: str) -> Outcome:
        """Run one cell and read the outcome off what the interpreter returns or raises."""
        try:
            result = self._interpreter.execute(code)
        except SyntaxError as error:
            return _failed("SyntaxError", str(error))
        except CodeExecutionError as error:
            return _failed("", str(error))
        if isinstance(result, FinalOutput):
            return self._submitted(result.output)
        text = "\n".join(map(str, result)) if isinstance(result, list) else "" if result is None else str(result)
        return Ran(_bounded(text, self._plan.max_output_chars))

    def shutdown(self) -> None:
        """Shut the interpreter down."""
        self._interpreter.shutdown()

    def _submitted(self, output: Any) -> Outcome:
        try:
            value = (
                self._plan.on_submit((), output) if isinstance(output, dict) else self._plan.on_submit((output,), {})
            )
        except SubmissionRefusedError as error:
            return _failed(type(error).__name__, str(error))
        return Submitted(Output(), value)


def _failed(kind: str, message: str) -> Failed:
    trace = f"{kind}: {message}" if kind else message
    name, _, rest = message.partition(":")
    # Such interpreters put the exception's name first in their message.
    told = kind or (name if name.isidentifier() else "Error")
    return Failed(Output(), CellError(told, message if kind else rest.strip() or message, None, "", trace))


def _bounded(text: str, limit: int) -> Output:
    if len(text) <= limit:
        return Output(text, "", len(text))
    head = limit // 2
    return Output(text[:head], text[head - limit :], len(text))


def _plain_function(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return _plain(function(*args, **kwargs))

    return call


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return decoded(value.read_bytes())
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Record):
        return {name: _plain(item) for name, item in fields_of(value).items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain({item.name: getattr(value, item.name) for item in dataclasses.fields(value)})
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, str) else value


def output_fields_info(signature: type[dspy.Signature]) -> list[dict[str, str]]:
    """The outputs as DSPy's interpreters want them: name, and type where it is one that their SUBMIT can name."""
    simple = {str: "str", int: "int", float: "float", bool: "bool", list: "list", dict: "dict"}
    fields = []
    for name, info in signature.output_fields.items():
        kind = simple.get(getattr(info.annotation, "__origin__", info.annotation))
        fields.append({"name": name, "type": kind} if kind else {"name": name})
    return fields
