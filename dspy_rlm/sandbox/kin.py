"""Values whose class only one side of the wall has, as the builtin nearest to it."""

from __future__ import annotations

import datetime
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

_VIEWS: tuple[type[Any], ...] = (type({}.keys()), type({}.values()), type({}.items()), deque, range)


def nearest_builtin(value: Any) -> Any:
    """The value as the builtin class that its own class derives from or stands for.

    Args:
        value: An instance of a subclass of a builtin (from `datetime` too), a mapping, a view of a dict, or a NumPy scalar
            or array.

    Returns:
        The builtin value; its items are as they were.

    Raises:
        LookupError: There is no such builtin.

    Example:
        >>> class Name(str): ...
        >>> nearest_builtin(Name("Emma")), nearest_builtin({"a": 1}.keys())
        ('Emma', ['a'])
    """
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, _VIEWS):
        return list(value)
    for base, convert in _BASES.items():
        if isinstance(value, base):
            return convert(value)
    if type(value).__module__.partition(".")[0] == "numpy" and hasattr(value, "tolist"):
        return value.tolist()
    raise LookupError(type(value).__name__)


def _datetime(value: datetime.datetime) -> datetime.datetime:
    parts = (value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond)
    return datetime.datetime(*parts, tzinfo=value.tzinfo, fold=value.fold)


# From the most special: a datetime is a date.
_BASES: dict[type, Callable[[Any], Any]] = {
    str: str.__str__,
    int: int.__int__,
    float: float.__float__,
    bytes: lambda value: bytes.__getitem__(value, slice(None)),
    bytearray: lambda value: bytearray(bytes(value)),
    tuple: tuple,
    list: list,
    frozenset: frozenset,
    set: set,
    datetime.datetime: _datetime,
    datetime.date: lambda value: datetime.date(value.year, value.month, value.day),
    datetime.timedelta: lambda value: datetime.timedelta(value.days, value.seconds, value.microseconds),
}
