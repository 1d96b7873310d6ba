"""Stand-ins for names of the standard library that write to foreign objects, or make code from text."""

from __future__ import annotations

import abc
import ast
import collections
import dataclasses
import enum
import functools
import sys
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

from . import formatting_trace, guards, guards_classes
from .policy_names import is_plain, words

_MODULE_TYPES = "NoneType EllipsisType NotImplementedType UnionType SimpleNamespace MappingProxyType GeneratorType"


def _own_class(kind: Any, caller: str) -> None:
    if not guards.is_own_class(kind):
        raise TypeError(f"{caller} takes a class defined in a cell, not {kind!r}")


# functools


def update_wrapper(wrapper: Any, wrapped: Any, *_chosen: Any, **_named: Any) -> Any:
    """Stand-in for `functools.update_wrapper`: always the usual names, and only on what a cell made.

    A choice of names is ignored: the original copies any attribute it is told, and a class with a `__setattr__` would
    receive what it may not read.
    """
    return functools.update_wrapper(guards.writable(wrapper), wrapped)


def wraps(wrapped: Any, *_chosen: Any, **_named: Any) -> Callable[[Any], Any]:
    """Stand-in for `functools.wraps`."""
    return lambda wrapper: update_wrapper(wrapper, wrapped)


def total_ordering(kind: type) -> type:
    """Stand-in for `functools.total_ordering`: it writes methods to the class."""
    _own_class(kind, "total_ordering")
    return functools.total_ordering(kind)


def singledispatch(function: Callable[..., Any]) -> Any:
    """Stand-in for `functools.singledispatch`: the original evaluates text annotations of what it registers."""
    dispatcher = functools.singledispatch(function)

    def dispatch(*args: Any, **kwargs: Any) -> Any:
        return dispatcher(*args, **kwargs)

    def register(kind: Any, implementation: Any = None) -> Any:
        if implementation is not None:
            return dispatcher.register(kind, implementation)
        if isinstance(kind, type | types.UnionType):
            return lambda function: dispatcher.register(kind, function)
        annotation = next(iter(getattr(kind, "__annotations__", {}).values()), None)
        if not isinstance(annotation, type | types.UnionType):
            raise TypeError("register() needs the class: write @f.register(int)")
        return dispatcher.register(annotation, kind)

    functools.update_wrapper(dispatch, function)
    vars(dispatch).update(register=register, dispatch=dispatcher.dispatch, registry=dispatcher.registry)
    return dispatch


# operator: closures, since type() of the original's instances would give its constructor


def attrgetter(name: str, /, *names: str) -> Callable[[Any], Any]:
    """Stand-in for `operator.attrgetter` with guarded reading."""
    paths = [tuple(str.__str__(path).split(".")) for path in (name, *names)]

    def follow(value: Any, path: tuple[str, ...]) -> Any:
        for step in path:
            value = guards.read(value, step)
        return value

    if len(paths) == 1:
        return lambda value: follow(value, paths[0])
    return lambda value: tuple(follow(value, path) for path in paths)


def methodcaller(name: str, /, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """Stand-in for `operator.methodcaller` with guarded reading."""
    return lambda value: guards.read(value, name)(*args, **kwargs)


# collections, typing


def namedtuple(typename: str, field_names: str | Iterable[str], **options: Any) -> Any:
    """Stand-in for `collections.namedtuple` whose classes are the cell's own."""
    options["module"] = guards.CELL_MODULE
    # The original already takes identifiers of exactly type str only.
    made = collections.namedtuple(typename, field_names, **options)  # type: ignore[misc]  # fields unknown here
    return guards_classes.close_match_args(made)


def safe_get_origin(annotation: Any) -> Any:
    """Stand-in for `typing.get_origin`: the origin of `Type[...]` is the `type` that cells see."""
    origin = typing.get_origin(annotation)
    return guards_classes.safe_type if origin is type else origin


# dataclasses


def _with_public_match_args(kind: type, options: dict[str, Any]) -> dict[str, Any]:
    names = {name for base in kind.__mro__ for name in vars(base).get("__annotations__", ())}
    return options if all(map(is_plain, names)) else options | {"match_args": False}


def dataclass(kind: Any = None, /, **options: Any) -> Any:
    """Stand-in for `dataclasses.dataclass`: it writes methods to the class, so to a cell's own only."""

    def decorate(kind: type) -> type:
        _own_class(kind, "dataclass")
        return dataclasses.dataclass(**_with_public_match_args(kind, options))(kind)

    return decorate if kind is None else decorate(kind)


# enum


class _CheckedEnumType(enum.EnumType):
    """Checks the member names of the functional form, which the original takes as they come."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls._member_map_ or (len(args) < 2 and "names" not in kwargs):
            return super().__call__(*args, **kwargs)
        value, *rest = args
        names = rest.pop(0) if rest else kwargs.pop("names")
        return super().__call__(
            value,
            _checked_members(names),
            *rest,
            **(kwargs | {"module": guards.CELL_MODULE}),
        )

    def _convert_(cls, *_args: Any, **_kwargs: Any) -> Any:
        raise TypeError("_convert_ is not available here: write an enum class")

    def _create_(cls, class_name: str, names: Any, **options: Any) -> Any:
        options["module"] = guards.CELL_MODULE
        return super()._create_(class_name, _checked_members(names), **options)  # type: ignore[misc]  # not in typeshed


def _checked_members(names: Any) -> Any:
    if isinstance(names, str):
        names = names.replace(",", " ").split()
    pairs = list(names.items()) if isinstance(names, dict) else list(names)
    for pair in pairs:
        name = pair if isinstance(pair, str) else pair[0]
        if type(name) is not str or not name.isidentifier() or name.startswith("_"):
            raise ValueError(f"enum member {name!r} is not a public identifier")
    return pairs


def _checked_enum(original: Any) -> Any:
    body = _CheckedEnumType.__prepare__(original.__name__, (original,))
    body["__module__"] = "enum"
    body["__doc__"] = original.__doc__
    return _CheckedEnumType(original.__name__, (original,), body)


_ENUMS = {name: _checked_enum(getattr(enum, name)) for name in ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag")}

# ast


def _literal_eval(text: str) -> Any:
    """Evaluate a literal of text; syntax trees are not taken."""
    if not isinstance(text, str):
        raise TypeError(f"literal_eval takes text, not {type(text).__name__}")
    return ast.literal_eval(text)


# traceback


def _print_text(text: str, file: Any) -> None:
    (sys.stdout if file is None else file).write(text)


def _format_exc(*_limits: Any, **_options: Any) -> str:
    """Format the exception being handled, with the cell's own frames."""
    return formatting_trace.format_trace(sys.exception()) if sys.exception() else "NoneType: None\n"


def _format_exception(error: Any, value: Any = None, *_rest: Any, **_options: Any) -> list[str]:
    """Format an exception as lines, with the cell's own frames."""
    return formatting_trace.format_trace(value or error).splitlines(keepends=True)


def _format_exception_only(error: Any, value: Any = None, **_options: Any) -> list[str]:
    """Format an exception's class and message."""
    return [formatting_trace.describe(value or error) + "\n"]


def _print_exc(*_limits: Any, file: Any = None, **_options: Any) -> None:
    """Print the exception being handled."""
    _print_text(_format_exc(), file)


def _print_exception(error: Any, value: Any = None, *_rest: Any, file: Any = None, **_options: Any) -> None:
    """Print an exception."""
    _print_text("".join(_format_exception(error, value)), file)


ABC: dict[str, Any] = {
    "ABC": abc.ABC,
    "ABCMeta": guards_classes.abstract_meta,
    "abstractmethod": abc.abstractmethod,
    "get_cache_token": abc.get_cache_token,
}
AST: dict[str, Any] = {"literal_eval": _literal_eval}
DATACLASSES: dict[str, Any] = {
    "dataclass": dataclass,
    **{
        name: getattr(dataclasses, name)
        for name in words(
            "field fields asdict astuple replace is_dataclass FrozenInstanceError InitVar KW_ONLY MISSING"
        )
    },
}
ENUM: dict[str, Any] = {
    **_ENUMS,
    **{name: getattr(enum, name) for name in words("auto unique verify member nonmember property")},
    **{name: getattr(enum, name) for name in words("FlagBoundary EnumCheck STRICT CONFORM EJECT KEEP")},
    **{name: getattr(enum, name) for name in words("CONTINUOUS NAMED_FLAGS UNIQUE")},
}
TRACEBACK: dict[str, Any] = {
    "format_exc": _format_exc,
    "format_exception": _format_exception,
    "format_exception_only": _format_exception_only,
    "print_exc": _print_exc,
    "print_exception": _print_exception,
}
TYPES: dict[str, Any] = {name: getattr(types, name) for name in words(_MODULE_TYPES)}
