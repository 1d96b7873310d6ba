"""Annotations as compact text for the root LM: `list[Invoice]`, and what an `Invoice` is, once."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import types
import typing
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from typing_extensions import is_typeddict

_AS_TEXT: dict[Any, str] = {
    type(None): "None",
    None: "None",
    Any: "any",
    datetime: "datetime (or ISO string)",
    date: "date (or ISO string)",
    time: "time (or ISO string)",
    timedelta: "timedelta (or seconds)",
    Decimal: "Decimal (or number)",
    Ellipsis: "...",
}
_CONSTRAINTS = {
    "gt": "> {}",
    "ge": ">= {}",
    "lt": "< {}",
    "le": "<= {}",
    "multiple_of": "multiple of {}",
    "min_length": "length >= {}",
    "max_length": "length <= {}",
    "pattern": "matches {!r}",
    "max_digits": "at most {} digits",
    "decimal_places": "at most {} decimal places",
}


class Shapes:
    """Writes annotations as text and collects the definitions of the types they name.

    Example:
        >>> class Invoice(BaseModel):
        ...     number: str
        ...     total: float
        >>> shapes = Shapes()
        >>> shapes.text(list[Invoice] | None)
        'list[Invoice] | None'
        >>> shapes.definitions()
        ['Invoice = {"number": str, "total": float}']
    """

    def __init__(self) -> None:
        self._definitions: dict[str, str] = {}

    def text(self, annotation: Any, metadata: Iterable[Any] = ()) -> str:
        """The annotation as text, its constraints in parentheses.

        Args:
            annotation: Any annotation that a DSPy signature may have.
            metadata: Constraints that stand beside it, as in `FieldInfo.metadata`.
        """
        if get_origin(annotation) is typing.Annotated:
            annotation, *own = get_args(annotation)
            metadata = [*own, *metadata]
        constraints = ", ".join(_constraints(metadata))
        text = self._plain(annotation)
        return f"{text} ({constraints})" if constraints else text

    def definitions(self) -> list[str]:
        """A line for each named type met so far, in the order in which they were met."""
        return list(self._definitions.values())

    def _plain(self, annotation: Any) -> str:
        if annotation in _AS_TEXT if _is_hashable(annotation) else False:
            return _AS_TEXT[annotation]
        origin, arguments = get_origin(annotation), get_args(annotation)
        if origin in (Union, types.UnionType):
            return " | ".join(self.text(argument) for argument in arguments)
        if origin is Literal:
            return " | ".join(repr(argument) for argument in arguments)
        if isinstance(annotation, typing.TypeAliasType if hasattr(typing, "TypeAliasType") else ()):
            return self.text(annotation.__value__)
        if origin is not None and not _fields(annotation):
            name = getattr(origin, "__name__", str(origin))
            return f"{name}[{', '.join(self.text(argument) for argument in arguments)}]" if arguments else name
        if inspect.isclass(annotation):
            return self._class(annotation)
        return self._class(origin) if origin is not None else str(annotation).removeprefix("typing.")

    def _class(self, cls: type) -> str:
        if issubclass(cls, enum.Enum):
            return " | ".join(repr(member.value) for member in cls)
        fields = _fields(cls)
        if fields is not None and cls.__name__ not in self._definitions:
            self._definitions[cls.__name__] = ""  # holds the place while its own fields are written, which may name it
            self._definitions[cls.__name__] = f"{cls.__name__} = {{{', '.join(map(self._field, fields))}}}"
        return cls.__name__

    def _field(self, field: _Field) -> str:
        text = f'"{field.name}": {self.text(field.annotation, field.metadata)}'
        if field.description:
            text += f" <{field.description}>"
        return text if field.default is PydanticUndefined else f"{text} = {field.default!r}"


@dataclasses.dataclass(frozen=True)
class _Field:
    name: str
    annotation: Any
    metadata: tuple[Any, ...] = ()
    description: str = ""
    default: Any = PydanticUndefined


def _fields(annotation: Any) -> list[_Field] | None:
    """The fields of a class that is sent as a dict, or None for other annotations."""
    cls = get_origin(annotation) or annotation
    if not inspect.isclass(cls):
        return None
    if issubclass(cls, BaseModel):
        return [_model_field(name, info) for name, info in cls.model_fields.items()]
    if dataclasses.is_dataclass(cls):
        hints = typing.get_type_hints(cls, include_extras=True)
        return [_Field(f.name, hints[f.name], default=_dataclass_default(f)) for f in dataclasses.fields(cls) if f.init]
    if is_typeddict(cls) or (issubclass(cls, tuple) and hasattr(cls, "_fields")):
        return [_Field(name, hint) for name, hint in typing.get_type_hints(cls, include_extras=True).items()]
    return None


def _model_field(name: str, info: FieldInfo) -> _Field:
    default = info.get_default(call_default_factory=True) if info.default_factory else info.get_default()
    return _Field(info.alias or name, info.annotation, tuple(info.metadata), info.description or "", default)


def _dataclass_default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return PydanticUndefined if field.default is dataclasses.MISSING else field.default


def _constraints(metadata: Iterable[Any]) -> Iterable[str]:
    for item in metadata:
        if isinstance(item, FieldInfo):
            yield from _constraints(item.metadata)
            continue
        facts = item if isinstance(item, Mapping) else _facts(item)
        for name, template in _CONSTRAINTS.items():
            if facts.get(name) is not None:
                yield template.format(facts[name])


def _facts(item: Any) -> dict[str, Any]:
    return {name: getattr(item, name, None) for name in _CONSTRAINTS}


def _is_hashable(annotation: Any) -> bool:
    try:
        hash(annotation)
    except TypeError:
        return False
    return True
