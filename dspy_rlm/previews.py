"""Values as short text, at a cost that follows the length of the text and never the size of the value."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from pydantic import BaseModel

_CUT = "…"
_NO_KEY: Any = object()  # dataclasses take their own MISSING for "no default"


def bounded_repr(value: Any, limit: int) -> str:
    """The repr of `value` in about `limit` characters, looking only at what is shown.

    Args:
        value: Anything. Models and dataclasses are shown as the dicts they are in the sandbox.
        limit: Characters.

    Example:
        >>> bounded_repr({"a": list(range(1_000_000))}, 24)
        "{'a': [0, 1, 2, 3, …]}"
    """
    text = _repr(value, max(limit, 8))
    return text if len(text) <= limit + 8 else text[:limit] + _CUT


def _repr(value: Any, limit: int) -> str:
    if isinstance(value, str | bytes | bytearray):
        return repr(value) if len(value) <= limit else repr(value[:limit])[: limit + 2] + _CUT
    if isinstance(value, Path) and value.is_file():
        ends = file_ends(value, limit, 0)  # as in the sandbox, where it is the file's text
        return repr(ends.head) + (_CUT if value.stat().st_size > limit else "")
    if isinstance(value, BaseModel):
        return _pairs(((name, getattr(value, name)) for name in type(value).model_fields), limit)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _pairs(((field.name, getattr(value, field.name)) for field in dataclasses.fields(value)), limit)
    if isinstance(value, Mapping):
        return _pairs(value.items(), limit)
    if isinstance(value, list | tuple | Set):
        opening, closing = (
            ("[", "]") if isinstance(value, list) else ("(", ")") if isinstance(value, tuple) else ("{", "}")
        )
        return opening + _joined((_Item(item) for item in value), limit) + closing
    try:
        return repr(value)
    except ValueError as error:  # an int of more digits than Python turns into text
        return f"<{type(value).__name__}: {error}>"


@dataclasses.dataclass(frozen=True)
class _Item:
    value: Any
    key: Any = _NO_KEY

    def text(self, limit: int) -> str:
        if self.key is _NO_KEY:
            return _repr(self.value, limit)
        key = _repr(self.key, limit)
        return f"{key}: {_repr(self.value, max(limit - len(key) - 2, 8))}"


def _pairs(pairs: Iterable[tuple[Any, Any]], limit: int) -> str:
    return "{" + _joined((_Item(value, key) for key, value in pairs), limit) + "}"


def _joined(items: Iterable[_Item], limit: int) -> str:
    texts: list[str] = []
    left = limit - 2
    for item in items:
        if left <= 4:
            texts.append(_CUT)
            break
        texts.append(item.text(left))
        left -= len(texts[-1]) + 2
    return ", ".join(texts)


@dataclasses.dataclass(frozen=True)
class Ends:
    """The beginning and the end of a text; `tail` is empty when `head` is all of it."""

    head: str
    tail: str = ""


def text_ends(text: str, head: int, tail: int) -> Ends:
    """The first `head` and last `tail` characters, or all of a text that is hardly longer."""
    return Ends(text) if len(text) <= head + tail else Ends(text[:head], text[-tail:])


def file_ends(path: Path, head: int, tail: int) -> Ends:
    """The first `head` and last `tail` bytes of a file as text, without reading the rest."""
    size = path.stat().st_size
    with path.open("rb") as file:
        if size <= head + tail:
            return Ends(file.read().decode("utf-8", errors="replace"))
        first = file.read(head)
        file.seek(size - tail)
        return Ends(first.decode("utf-8", errors="ignore"), file.read().decode("utf-8", errors="ignore"))


def first_items(value: Mapping[Any, Any] | Sequence[Any] | Set[Any], count: int) -> list[Any]:
    """The first `count` items of a container, key and value of a mapping."""
    return list(itertools.islice(value.items() if isinstance(value, Mapping) else value, count))
