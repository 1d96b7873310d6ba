"""A task's inputs as the root LM is told of them: small ones whole, large ones by size, type and preview."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

import dspy
from dspy.primitives.sandbox_serializable import SandboxSerializable
from pydantic.fields import FieldInfo

from dspy_rlm.formats import reading_hint
from dspy_rlm.previews import Ends, bounded_repr, file_ends, first_items, text_ends
from dspy_rlm.shapes import Shapes

SHOWN_WHOLE = 600  # characters up to which an input is shown whole, so that an easy task takes one turn
_HEAD, _TAIL = 400, 150  # characters of a long text that are shown
_SNIFFED = 4_000  # characters of a long text from which its format is told
_ITEM = 200  # characters of a container's first items that are shown


def describe_variables(signature: type[dspy.Signature], inputs: Mapping[str, Any], shapes: Shapes) -> list[str]:
    """One entry for each input, in the signature's order.

    Args:
        signature: The task's signature.
        inputs: The inputs of this run.
        shapes: Collects the definitions of the types that the entries name.
    """
    return [_describe(name, field, inputs[name], shapes) for name, field in signature.input_fields.items()]


def _describe(name: str, field: FieldInfo, value: Any, shapes: Shapes) -> str:
    note = field_note(name, field)
    if isinstance(value, str):
        return _describe_text(name, note, value)
    if isinstance(value, Path):
        return _describe_file(name, note, value)
    if isinstance(value, SandboxSerializable):
        return _describe_serializable(name, note, value)
    kind = _kind(field.annotation, value, shapes)
    if isinstance(value, Mapping | list | tuple | Set):
        return _describe_container(name, note, kind, value)
    return f"{name}: {kind}{note} = {bounded_repr(value, SHOWN_WHOLE)}"


def _describe_text(name: str, note: str, text: str) -> str:
    if len(text) <= SHOWN_WHOLE:
        return f"{name}: str{note} = {text!r}"
    title = f"{name}: str{note}, {len(text):,} characters, already set"
    return _with_ends(name, title, text_ends(text, _HEAD, _TAIL), reading_hint(name, text[:_SNIFFED]))


def _describe_file(name: str, note: str, path: Path) -> str:
    title = f"{name}: str{note}, {path.stat().st_size:,} bytes of text, already set"
    beginning = file_ends(path, _SNIFFED, 0).head
    return _with_ends(name, title, file_ends(path, _HEAD, _TAIL), reading_hint(name, beginning))


def _with_ends(name: str, title: str, ends: Ends, hint: str | None) -> str:
    """The ends as a session that printed them: shown bare, a weak model types them into the variable."""
    if not ends.tail:
        return f"{title}\n>>> print({name})\n{ends.head}"
    how = f"\nTo read it, begin a cell with\n{hint}" if hint else ""
    return f"{title}\n>>> print({name}[:{len(ends.head)}])\n{ends.head}\n>>> print({name}[-{len(ends.tail)}:])\n{ends.tail}{how}"


def _describe_serializable(name: str, note: str, value: SandboxSerializable) -> str:
    setup = value.sandbox_setup().strip()
    ready = f" (already run: {setup!r})" if setup else ""
    return f"{name}: {type(value).__name__}{note}{ready}:\n{value.rlm_preview(SHOWN_WHOLE)}"


def _describe_container(name: str, note: str, kind: str, value: Any) -> str:
    whole = bounded_repr(value, SHOWN_WHOLE)
    if "…" not in whole:
        return f"{name}: {kind}{note} = {whole}"
    shown = first_items(value, 2)
    lines = [
        f"{bounded_repr(item[0], _ITEM)}: {bounded_repr(item[1], _ITEM)}"
        if isinstance(value, Mapping)
        else bounded_repr(item, _ITEM)
        for item in shown
    ]
    return "\n".join([f"{name}: {kind}{note}, {len(value):,} items. It begins with", *lines])


def _kind(annotation: Any, value: Any, shapes: Shapes) -> str:
    """The declared type, or the value's own where a signature that declares nothing says `str`."""
    return type(value).__name__ if annotation in (str, Any) else shapes.text(annotation)


def field_note(name: str, field: FieldInfo) -> str:
    """A field's description in parentheses, or nothing where its author wrote none."""
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    text = inspect.cleandoc(str(extra.get("desc", "")))
    return "" if text in ("", f"${{{name}}}") else f" ({text})"
