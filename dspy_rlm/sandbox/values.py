"""Values that a call into the host gives a cell, beside Python's own types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class Record(Mapping[str, Any]):
    """Named values: what a sub-module with several outputs returns. It cannot be changed.

    Args:
        fields: The values by name.

    Example:
        >>> record = Record({"title": "Emma", "pages": 3})
        >>> record.title, record["pages"]
        ('Emma', 3)
        >>> record
        Record(title='Emma', pages=3)
    """

    __slots__ = ("_fields",)
    _fields: dict[str, Any]

    def __init__(self, fields: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_fields", dict(fields))

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __getattribute__(self, name: str) -> Any:
        # A field named like a method (`items`, `keys`) is the field: the record is there for its fields.
        if not name.startswith("_"):
            fields = object.__getattribute__(self, "_fields")
            if name in fields:
                return fields[name]
        return object.__getattribute__(self, name)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the record has no field {name!r}: it has {', '.join(self._fields)}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a record cannot be changed: put {name!r} into a variable of your own")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a record cannot be changed: {name!r} stays")

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Record):
            return fields_of(self) == fields_of(other)
        return self._fields == other if isinstance(other, dict) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as a dict, which it may be equal to

    def __repr__(self) -> str:
        return f"Record({', '.join(f'{name}={value!r}' for name, value in self._fields.items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Record, (self._fields,)

    def __deepcopy__(self, memo: dict[int, Any]) -> Record:
        return self


def fields_of(record: Record) -> dict[str, Any]:
    """The record's values by name, whatever its fields are called."""
    return dict(object.__getattribute__(record, "_fields"))


class SubCallFailure(str):
    """Stands in a batch's results where one call failed; as text it is `[failed] KIND: message`.

    Example:
        >>> failure = SubCallFailure("[failed] ValueError: too long")
        >>> failure.error
        'ValueError: too long'
    """

    __slots__ = ()

    @property
    def error(self) -> str:
        """Kind and message of the call's exception."""
        return self.removeprefix("[failed] ")

    def __reduce__(self) -> tuple[Any, ...]:
        return SubCallFailure, (str(self),)


__all__ = ["Record", "SubCallFailure", "fields_of"]
