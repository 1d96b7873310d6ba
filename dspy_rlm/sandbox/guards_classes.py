"""Making classes: the stand-ins for `type`, `ABCMeta` and `__build_class__`, which else make anything from a dict."""

from __future__ import annotations

import abc
import builtins
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

from . import guards
from .policy_names import is_plain


class _OneArgument(type):
    """The type of the `type` that cells see: it tells types, makes none, and hides metaclasses, which make them."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs:
            raise TypeError("type() takes one argument here: write a class statement to make a class")
        kind = builtins.type(args[0])
        return cls if issubclass(kind, builtins.type) else kind

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, builtins.type)

    def __subclasscheck__(cls, kind: Any) -> bool:
        return issubclass(kind, builtins.type)

    def __repr__(cls) -> str:
        return "<class 'type'>"


safe_type = _OneArgument(
    "type",
    (),
    {"__module__": "builtins", "__class_getitem__": classmethod(types.GenericAlias)},
)
abstract_meta = _OneArgument("ABCMeta", (), {"__module__": "abc"})


def build_class(body: Callable[[], Any], name: str, *bases: Any, **keywords: Any) -> Any:
    """Stand in for `__build_class__`, which every class statement calls."""
    metaclass = keywords.pop("metaclass", safe_type)
    if metaclass is abstract_meta:
        keywords["metaclass"] = abc.ABCMeta
    elif metaclass is not safe_type:
        raise TypeError("metaclasses are not available here: use a class decorator or __init_subclass__")
    for base in bases:
        if isinstance(base, _OneArgument):
            raise TypeError("metaclasses are not available here: use a class decorator or __init_subclass__")
        if base is typing.ForwardRef:
            raise TypeError("classes cannot derive from ForwardRef here: it evaluates text as code")
        if isinstance(base, type):
            close_match_args(base)
        if isinstance(base, type) and issubclass(base, BaseExceptionGroup):
            # CPython up to 3.12.8 trusts what an overridden split() returns, and confuses types.
            raise TypeError("classes cannot derive from exception groups here: raise ExceptionGroup itself")
    made = builtins.__build_class__(body, name, *bases, **keywords)
    _refuse_kept_names(made, body.__code__.co_names)
    return close_match_args(made)


def _refuse_kept_names(made: Any, written: Iterable[str]) -> None:
    if not isinstance(made, type):
        return
    for name in guards.foreign_private(made).intersection(written):
        raise TypeError(f"{name!r} is a private name of a base class of {made.__name__!r}: choose another name")


def close_match_args(kind: Any) -> Any:
    """Keep positional patterns from reading attributes that are not plain: generated classes name their fields so."""
    names = getattr(kind, "__match_args__", ())
    if type(names) is tuple and all(type(name) is str and is_plain(name) for name in names):
        return kind
    type.__setattr__(kind, "__match_args__", ())
    return kind
