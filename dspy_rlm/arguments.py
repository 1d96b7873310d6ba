"""What an RLM's arguments must be, checked before anything is paid for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dspy
from dspy.primitives.code_interpreter import CodeInterpreter

from dspy_rlm.errors import UsageError
from dspy_rlm.reading import NotTextError, readable
from dspy_rlm.sessions import InterpreterFactory


def checked_factory(factory: InterpreterFactory | None) -> InterpreterFactory | None:
    """The factory as given.

    Raises:
        UsageError: It cannot make an interpreter for each run.
    """
    is_interpreter = isinstance(factory, CodeInterpreter) and not isinstance(factory, type)
    if factory is not None and (is_interpreter or not callable(factory)):
        raise UsageError(
            f"interpreter_factory must be a function that makes an interpreter for each run, got {factory!r}: pass its "
            "class, or a function that returns a new one"
        )
    return factory


def checked_subs(subs: Mapping[str, dspy.Module] | None) -> dict[str, dspy.Module]:
    """The sub-modules as a dict of their own.

    Raises:
        UsageError: They are not given by name, or one is no `dspy.Module`.
    """
    if not isinstance(subs, Mapping | None):
        raise UsageError(
            f"subs must be a dict of modules by name, got {type(subs).__name__}: write subs={{'name': module}}"
        )
    for name, module in (subs or {}).items():
        if not isinstance(module, dspy.Module):
            raise UsageError(
                f"the sub-module {name!r} is a {type(module).__name__}, not a dspy.Module: pass plain functions as tools"
            )
    return dict(subs or {})


def checked_inputs(signature: type[dspy.Signature], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs of a call, with the signature's defaults for those that are not given.

    The path of a file that is no UTF-8 text, gzipped or of another encoding, is replaced by the file's text.

    Raises:
        UsageError: Inputs are missing or not in the signature, or a path is no text file.
    """
    fields = signature.input_fields
    if unexpected := [name for name in inputs if name not in fields]:
        raise UsageError(f"unexpected inputs {unexpected}: the signature has {list(fields)}")
    defaults = {name: field.get_default() for name, field in fields.items() if not field.is_required()}
    if missing := [name for name in fields if name not in inputs and name not in defaults]:
        raise UsageError(f"missing inputs {missing}: the signature has {list(fields)}")
    return {**defaults, **{name: _readable(name, value) for name, value in inputs.items()}}


def _readable(name: str, value: Any) -> Any:
    if not isinstance(value, Path):
        return value
    if not value.is_file():
        raise UsageError(f"the input {name!r} is the path {str(value)!r}, which is no file")
    try:
        return readable(value)
    except (NotTextError, OSError) as error:
        raise UsageError(f"the input {name!r} is the path {str(value)!r}, which cannot be read: {error}") from error


def check_lm(name: str, lm: dspy.BaseLM | None) -> None:
    """Refuse what is no LM.

    Raises:
        UsageError: The value is neither None nor a `dspy.BaseLM`.
    """
    if not isinstance(lm, dspy.BaseLM | None):
        raise UsageError(f"{name} must be a dspy.LM, got {lm!r}: write dspy.LM({lm!r})")


def check_at_least(name: str, value: int, least: int) -> None:
    """Refuse a number that is too small.

    Raises:
        UsageError: The value is no int of at least `least`.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise UsageError(f"{name} must be an int of at least {least}, got {value!r}")
