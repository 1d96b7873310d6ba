"""What a cell shows, bounded where it arises: the print sink and the repr of a trailing value."""

from __future__ import annotations

import threading
from collections import deque
from itertools import islice
from operator import itemgetter
from types import FunctionType
from typing import Any

from .outcomes import Output

_LONG = 1_000  # items of a container that are shown whole
_COMPARED = 1_000_000  # items of a dict whose values are compared, which takes less than a tenth of a second
_ENDS = 100, 10  # items shown at the head and the tail of a longer one


class PrintSink:
    """A text stream that keeps the head and the tail of what is written, and its true length.

    Args:
        limit: Characters kept in all.
    """

    encoding = "utf-8"
    errors = "strict"
    closed = False

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._tail_limit = limit // 2
        self._lock = threading.Lock()
        self.clear()

    def clear(self) -> None:
        """Forget everything written."""
        self._kept: list[str] = []
        self._room = self._limit
        self._tail: list[str] = []
        self._tail_length = 0
        self._length = 0

    def write(self, text: str) -> int:
        """Take text; memory stays bounded however much is written.

        Raises:
            TypeError: When it is not text.
        """
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        with self._lock:
            self._length += len(text)
            kept = min(self._room, len(text))
            if kept:
                self._kept.append(text[:kept])
                self._room -= kept
            if kept < len(text):
                self._write_tail(text, kept)
        return len(text)

    def _write_tail(self, text: str, start: int) -> None:
        piece = text[max(start, len(text) - self._tail_limit) :]
        self._tail.append(piece)
        self._tail_length += len(piece)
        if self._tail_length > 4 * self._tail_limit:
            joined = "".join(self._tail)[self._tail_length - self._tail_limit :]
            self._tail, self._tail_length = [joined], len(joined)

    def output(self) -> Output:
        """Give head, tail and true length of what was written."""
        with self._lock:
            kept = "".join(self._kept)
            if self._length <= self._limit:
                return Output(kept, "", self._length)
            recent = kept + "".join(self._tail)
            head = kept[: self._limit - self._tail_limit]
            return Output(head, recent[len(recent) - self._tail_limit :], self._length)

    def writelines(self, lines: Any) -> None:
        """Take several pieces of text."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Do nothing: the output is read when the cell ended."""

    def isatty(self) -> bool:
        """Say that this is no terminal."""
        return False

    def writable(self) -> bool:
        """Say that text can be written."""
        return True

    def readable(self) -> bool:
        """Say that nothing can be read."""
        return False


def cut(text: str, limit: int) -> Output:
    """Keep head and tail of a text within a number of characters."""
    if len(text) <= limit:
        return Output(text, "", len(text))
    tail = limit // 2
    return Output(text[: limit - tail], text[-tail:] if tail else "", len(text))


def bounded_repr(value: Any, limit: int) -> Output:
    """Show a value as a notebook does, without building the repr of a huge one.

    Args:
        value: Any object.
        limit: Characters kept in all.

    Returns:
        Head and tail; the length is true for all but huge text and containers, whose middles are left out.
    """
    return cut(_shown(value, max(limit, 1_000)), limit) if _is_huge(value, limit) else cut(repr(value), limit)


def glimpse(value: Any, limit: int) -> Output:
    """Show a value that nobody asked to see: a container that would not fit by what it is, a function by its name.

    Args:
        value: Any object.
        limit: Characters kept in all.

    Returns:
        The repr where it fits, else what the value is, with no pieces that could be taken for all of it.

    Example:
        >>> glimpse([{"city": "Bern"}] * 5_000, 50).head
        "list of 5,000 items, one of them: {'city': 'Bern'}"
    """
    if isinstance(value, FunctionType):  # its repr tells an address, which is another in each run
        return cut(f"the function {value.__name__}, which was not called", limit)
    shown = bounded_repr(value, limit)
    if not shown.tail or type(value) not in _BRACKETS:
        return shown
    summary = f"{type(value).__name__} of {len(value):,} items"
    if type(value) is dict:  # shown any pair of a dict of counts, a weak model takes it for the highest
        return cut(f"{summary}, {_extremes(value, limit // 4)}", limit)
    first = bounded_repr(next(iter(value)), limit)
    with_first = f"{summary}, one of them: {first.head}"
    return cut(summary if first.tail or len(with_first) > limit else with_first, limit)


def _extremes(items: dict[Any, Any], limit: int) -> str:
    if len(items) > _COMPARED or not all(type(number) in (int, float) for number in items.values()):
        return "not shown: print what of it is needed"
    least, greatest = (bounded_repr(pick(items.items(), key=itemgetter(1)), limit).head for pick in (min, max))
    return f"the least by value: {least}, the greatest: {greatest}"


def _is_huge(value: Any, limit: int) -> bool:
    """Say whether a repr would be far longer than the limit, looking at a bounded number of items."""
    budget = 8 * limit + 80_000
    pending: deque[Any] = deque([value])
    looked = 0
    while pending and looked < 50_000:
        item = pending.popleft()
        looked += 1
        kind = type(item)
        if kind in (str, bytes, bytearray):
            budget -= len(item)
        elif kind in (list, tuple, set, frozenset, dict, deque):
            budget -= 3 * len(item)
            if budget > 0:
                pending.extend(item)
                pending.extend(item.values() if kind is dict else ())
        if budget < 0:
            return True
    return bool(pending)


_BRACKETS: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
    dict: ("{", "}"),
    deque: ("deque([", "])"),
}


def _shown(value: Any, limit: int, depth: int = 0) -> str:
    kind = type(value)
    if kind in (str, bytes, bytearray):
        if len(value) <= limit:
            return repr(value)
        half = limit // 2
        return f"{value[:half]!r} … ({len(value):,} characters in all) … {value[-half:]!r}"
    if kind not in _BRACKETS:
        return repr(value)
    if depth > 4:
        return "…"
    before, after = _BRACKETS[kind]
    inner = max(limit // 10, 200)

    def show(item: Any) -> str:
        if kind is dict:
            return f"{_shown(item[0], inner, depth + 1)}: {_shown(item[1], inner, depth + 1)}"
        return _shown(item, inner, depth + 1)

    items = value.items() if kind is dict else value
    if len(value) <= _LONG:
        return before + ", ".join(map(show, items)) + after
    head, tail = _ENDS
    last = reversed(list(islice(reversed(items), tail))) if kind not in (set, frozenset) else ()
    shown = [
        *map(show, islice(items, head)),
        f"… ({len(value):,} items in all) …",
        *map(show, last),
    ]
    return before + ", ".join(shown) + after
