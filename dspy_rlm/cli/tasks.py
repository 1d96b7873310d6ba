"""The task of a command: its signature, built or the user's own, and the values of its inputs."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy
import typer
from pydantic import TypeAdapter, ValidationError

from dspy_rlm.cli.inputs import Documents, Notice

_INSTRUCTIONS = "Answer the question from the context."
_QUESTION_NAMES = ("question", "query")


@dataclass(frozen=True)
class Task:
    """What an `RLM` is made of and called with."""

    signature: type[dspy.Signature]
    inputs: Mapping[str, Any]


def default_task(question: str, documents: Documents, outputs: Mapping[str, Any], notice: Notice) -> Task:
    """`context, question -> <outputs>`, where the context has the type of what was named on the command line.

    Raises:
        typer.BadParameter: an output is named like an input.
    """
    if taken := [name for name in ("context", "question") if name in outputs]:
        raise typer.BadParameter(f"{taken[0]!r} is the name of an input: rename the output", param_hint="--output")
    value = documents.value(notice)
    kind = str if isinstance(value, Path) else dict[str, str] if documents.from_folder else type(value)
    fields: dict[str, Any] = {
        "context": (kind, dspy.InputField(desc=documents.note())),
        "question": (str, dspy.InputField()),
        **{name: (annotation, dspy.OutputField()) for name, annotation in outputs.items()},
    }
    return Task(dspy.Signature(fields, _INSTRUCTIONS), {"context": value, "question": question})


def own_task(signature: type[dspy.Signature], question: str, documents: Documents, notice: Notice) -> Task:
    """The user's signature with the question and the files given to its inputs.

    The question goes to the input `question` or `query`, which is added where there is none. The files go to the other
    inputs: all to a single one, else one each in the signature's order.

    Raises:
        typer.BadParameter: there are not as many files as inputs, or a file does not fit its input's type.
    """
    asked = next((name for name in _QUESTION_NAMES if name in signature.input_fields), None)
    if asked is None:
        asked = "question"
        signature = signature.append(asked, dspy.InputField(), str)
    fields = {name: field for name, field in signature.input_fields.items() if name != asked}
    needed = [name for name, field in fields.items() if field.is_required()] or list(fields)[:1]
    if not needed:
        raise _bad(f"the signature has no input for the files, only {asked!r}")
    if len(needed) == 1:
        shares = {needed[0]: documents}
    elif len(needed) == len(documents.items) and not documents.from_folder:
        shares = {name: Documents((item,)) for name, item in zip(needed, documents.items, strict=True)}
    else:
        raise _bad(
            f"beside {asked!r}, which QUESTION goes to, the signature has the inputs {', '.join(needed)}: name one FILE for "
            f"each, in this order; {len(documents.items)} were named"
        )
    values = {name: _fitted(name, fields[name].annotation, share, notice) for name, share in shares.items()}
    return Task(signature, {asked: question, **values})


def load_signature(text: str) -> type[dspy.Signature]:
    """The class that `module:Class` names; modules in the working directory are found.

    Raises:
        typer.BadParameter: it cannot be imported, or is no signature.
    """
    module_name, _, class_name = text.partition(":")
    if not module_name or not class_name:
        raise _bad(f"{text!r} must be MODULE:CLASS, for example my_signatures:LogTriage")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        found = getattr(importlib.import_module(module_name), class_name, None)
    except Exception as error:  # whatever the user's module raises while it is imported
        raise _bad(f"importing {module_name!r} failed: {type(error).__name__}: {error}") from error
    if found is None:
        raise _bad(f"the module {module_name!r} has no {class_name!r}")
    if not (isinstance(found, type) and issubclass(found, dspy.Signature)):
        raise _bad(f"{text!r} is not a dspy.Signature class, it is {found!r}")
    return found


def _fitted(name: str, annotation: Any, documents: Documents, notice: Notice) -> Any:
    """The files as the input's type wants them."""
    if annotation is str:
        return documents.joined_text()
    value: Any = documents.value(notice)
    value = value.read_bytes().decode("utf-8") if isinstance(value, Path) else value
    by_path: dict[str, Any] = (
        value if len(documents.items) > 1 or documents.from_folder else {documents.items[0].name: value}
    )
    candidates = (value, by_path, list(by_path.values()))
    reasons = []
    for candidate in candidates:
        try:
            return TypeAdapter(annotation).validate_python(candidate)
        except ValidationError as error:
            reasons.append(error.errors()[0])
    where = ".".join(str(part) for part in reasons[0]["loc"])
    raise _bad(
        f"what was named does not fit the input {name!r} of type {annotation}: "
        f"{reasons[0]['msg']}{f' at {where}' if where else ''}"
    )


def _bad(message: str) -> typer.BadParameter:
    return typer.BadParameter(message, param_hint="--signature")
