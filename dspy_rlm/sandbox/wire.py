"""What the worker sends: data as JSON, with tags for what JSON lacks. The host never unpickles any of it."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import enum
import json
import uuid
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from .kin import nearest_builtin
from .values import Record, fields_of

_TAG = "#"
_PLAIN = frozenset({str, bool, float, type(None)})
_SAFE_INT = 2**53  # beyond, decimal digits get slow, and Python refuses more than 4,300 of them


def encode(value: Any) -> bytes:
    """Encode a value for the host.

    Args:
        value: Any nesting of None, bool, int, float, complex, str, bytes, list, tuple, set, dict, dates and times,
            Decimal, Fraction, UUID; records, dataclasses and named tuples go as dicts and tuples, members of enums as
            their values, subclasses as the builtin class they derive from.

    Raises:
        TypeError: The value holds something else; the message says what, and what to convert it to.

    Example:
        >>> decode(encode({"when": datetime.date(2025, 1, 31), ("a", 1): {2.5}}))
        {'when': datetime.date(2025, 1, 31), ('a', 1): {2.5}}
    """
    try:
        return json.dumps(_tagged(value), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    except RecursionError:
        raise TypeError("the value is nested too deeply, or holds itself: flatten it before handing it over") from None


def decode(data: bytes) -> Any:
    """Decode what `encode` made.

    Raises:
        ValueError: The bytes are not of that form.
    """
    try:
        return json.loads(data.decode("utf-8", "surrogatepass"), object_hook=_untagged)
    except (TypeError, KeyError, RecursionError, ArithmeticError) as error:
        raise ValueError(f"the worker sent what is no value: {type(error).__name__}: {error}") from error


def _tagged(value: Any) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is int:
        return value if -_SAFE_INT < value < _SAFE_INT else {_TAG: "int", "v": hex(value)}
    if kind is list:
        return [_tagged(item) for item in value]
    if kind is dict:
        return _tagged_dict(value)
    if kind in _WRITERS:
        return {_TAG: kind.__name__, "v": _WRITERS[kind](value)}
    return _tagged_kin(value)


def _tagged_dict(value: Mapping[Any, Any]) -> Any:
    if _TAG not in value and all(type(key) is str for key in value):
        return {key: _tagged(item) for key, item in value.items()}
    return {_TAG: "dict", "v": [[_tagged(key), _tagged(item)] for key, item in value.items()]}


def _tagged_kin(value: Any) -> Any:
    """Encode what is not exactly a builtin, as the builtin nearest to it."""
    if isinstance(value, enum.Enum):
        return _tagged(value.value)
    if isinstance(value, Record):
        return _tagged(fields_of(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _tagged({field.name: getattr(value, field.name) for field in dataclasses.fields(value)})
    try:
        return _tagged(nearest_builtin(value))
    except LookupError:
        raise TypeError(_complaint(value)) from None


def _complaint(value: Any) -> str:
    kind = type(value).__name__
    if value is ...:
        return "`...` cannot leave the sandbox: put the value that you found in its place"
    if hasattr(value, "__next__"):
        return f"a {kind} cannot leave the sandbox: make it a list first, with list(...)"
    if callable(value):
        return f"a {kind} cannot leave the sandbox: call it, and hand over what it returns"
    return (
        f"an object of class {kind} cannot leave the sandbox: make it text, numbers, lists or dicts first, "
        "or define the class as a dataclass"
    )


def _items(value: Any) -> list[Any]:
    return [_tagged(item) for item in value]


def _base64(value: bytes | bytearray) -> str:
    return base64.b64encode(value).decode("ascii")


def _write_time(value: datetime.time) -> list[Any]:
    return [value.isoformat(), value.fold]


def _read_time(data: list[Any]) -> datetime.time:
    return datetime.time.fromisoformat(data[0]).replace(fold=data[1])


def _write_datetime(value: datetime.datetime) -> list[Any]:
    zone = getattr(value.tzinfo, "key", None)
    return [value.isoformat(), zone if isinstance(zone, str) else None, value.fold]


def _read_datetime(data: list[Any]) -> datetime.datetime:
    moment = datetime.datetime.fromisoformat(data[0]).replace(fold=data[2])
    if data[1] is None:
        return moment
    import zoneinfo

    try:
        return moment.astimezone(zoneinfo.ZoneInfo(str(data[1])))
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return moment  # the same instant, with the offset it had


_WRITERS: dict[type, Callable[[Any], Any]] = {
    tuple: _items,
    set: _items,
    frozenset: _items,
    bytes: _base64,
    bytearray: _base64,
    complex: lambda value: [value.real, value.imag],
    datetime.datetime: _write_datetime,
    datetime.date: datetime.date.isoformat,
    datetime.time: _write_time,
    datetime.timedelta: lambda value: [value.days, value.seconds, value.microseconds],
    Decimal: str,
    Fraction: str,
    uuid.UUID: str,
}
_READERS: dict[str, Callable[[Any], Any]] = {
    "int": lambda data: int(data, 16),
    "dict": dict,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "bytes": lambda data: base64.b64decode(data, validate=True),
    "bytearray": lambda data: bytearray(base64.b64decode(data, validate=True)),
    "complex": lambda data: complex(*data),
    "datetime": _read_datetime,
    "date": datetime.date.fromisoformat,
    "time": _read_time,
    "timedelta": lambda data: datetime.timedelta(*data),
    "Decimal": Decimal,
    "Fraction": Fraction,
    "UUID": uuid.UUID,
}


def _untagged(found: dict[str, Any]) -> Any:
    tag = found.get(_TAG)
    return found if tag is None else _READERS[tag](found["v"])
