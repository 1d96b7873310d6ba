"""The guards: what the policy leaves to run time, because it depends on the object.

They hold no state of a session. What a cell made itself is told from everything else by marks a cell cannot forge:
the file name of its code, and the module name of its classes (`__main__` is empty in the worker).
"""

from __future__ import annotations

import abc
import decimal
import functools
import pprint
import textwrap
import threading
import types
from collections.abc import Callable
from typing import Any

from .formatting_templates import template_refusal
from .guards_private import kept_names
from .policy_names import (
    GUARDED_ATTRIBUTES,
    PLAIN_PRIVATE,
    attribute_refusal,
    is_dunder,
    is_plain,
    words,
)

CELL_FILE = "<cell "
CELL_MODULE = "__main__"

# Classes whose private attributes lead nowhere, so that a cell's subclass of them is wholly the cell's.
VETTED_MODULES = frozenset(
    words("""
    builtins abc collections collections.abc _collections_abc typing enum datetime decimal fractions numbers string
    random _random contextlib json.encoder json.decoder io _io html.parser _markupbase csv _csv types dataclasses
    functools uuid statistics calendar textwrap pprint queue _thread array
""")
)

# Foreign instances whose attributes are there to be set by their user.
_WRITABLE_TYPES = (
    types.SimpleNamespace,
    BaseException,
    decimal.Context,
    threading.local,
    functools.partial,
    textwrap.TextWrapper,
    pprint.PrettyPrinter,
)

# Classes of a cell, filled as the guards meet them. The compiled fast path looks in here.
OWN_CLASSES: set[type] = set()

# Those of them whose foreign bases keep no private names: all private names are the cell's.
FREE_CLASSES: set[type] = set()

# Classes of ours that cells may derive from.
_BASES_OF_OURS: set[type] = set()

# Opt-in packages: their instances are written to as their users do (`frame.columns = ...`).
OPTED_IN: set[str] = set()

_TEMPLATE_METHODS = {"format": str.format, "format_map": str.format_map}


def may_derive_from(kind: type) -> type:
    """Admit one of our classes as a base of cells' classes; usable as a decorator."""
    _BASES_OF_OURS.add(kind)
    return kind


def is_own_class(kind: Any) -> bool:
    """Say whether a class was made by a cell, from vetted bases only."""
    if not isinstance(kind, type):
        return False
    if kind in OWN_CLASSES:
        return True
    if kind.__module__ != CELL_MODULE or not all(map(_is_vetted, kind.__mro__)):
        return False
    OWN_CLASSES.add(kind)
    if not foreign_private(kind):
        FREE_CLASSES.add(kind)
    return True


def foreign_private(kind: type) -> frozenset[str]:
    """List the private names that the foreign bases of a cell's class keep for themselves."""
    foreign = [base for base in kind.__mro__ if base.__module__ != CELL_MODULE and base not in _BASES_OF_OURS]
    return frozenset[str]().union(*map(kept_names, foreign))


def private_refusal(value: Any, name: str) -> str | None:
    """Say why a private attribute is closed: it is not of a cell's class, or a foreign base keeps it for itself."""
    kind = super.__self_class__.__get__(value) if type(value) is super else type(value)  # type: ignore[attr-defined]
    if is_own_class(kind):
        kept = name in foreign_private(kind)
    elif is_own_class(value):
        kept = name in foreign_private(value) or any(name in kept_names(meta) for meta in kind.__mro__)
    else:
        kept = True
    return f"{name!r} of {type(value).__name__!r} objects is private: use their public methods" if kept else None


def _is_vetted(kind: type) -> bool:
    return kind.__module__ == CELL_MODULE or kind.__module__ in VETTED_MODULES or kind in _BASES_OF_OURS


def is_own_function(value: Any) -> bool:
    """Say whether a function's code was compiled from a cell."""
    return type(value) is types.FunctionType and value.__code__.co_filename.startswith(CELL_FILE)


def is_own(value: Any) -> bool:
    """Say whether a cell made this class, this function, or the class of this instance."""
    return is_own_class(type(value)) or is_own_class(value) or is_own_function(value)


def read(value: Any, name: str) -> Any:
    """Read an attribute that is not plain, or whose name was computed.

    Args:
        value: Any object.
        name: The attribute's name.

    Returns:
        The attribute, or a guarded stand-in for it.

    Raises:
        AttributeError: When the attribute is missing or closed.
    """
    name = str.__str__(name)
    if is_plain(name):
        return getattr(value, name)
    if name in ("__setattr__", "__delattr__"):
        return _writer(value, name)
    reason = attribute_refusal(name)
    if reason is not None:
        raise AttributeError(reason)
    if name in GUARDED_ATTRIBUTES:
        return _screened(getattr(value, name), name)
    reason = private_refusal(value, name)
    if reason is not None:
        raise AttributeError(reason)
    return getattr(value, name)


def _screened(found: Any, name: str) -> Any:
    if name in _TEMPLATE_METHODS:
        return _checked_template_method(found, name)
    if name == "register" and isinstance(getattr(found, "__self__", None), abc.ABCMeta):
        return _checked_register(found)
    if isinstance(found, types.ModuleType):
        raise AttributeError(f"the attribute {name!r} is closed: it holds a module")  # noqa: TRY004  # of a name
    return found


def _checked_register(register: Any) -> Callable[[type], type]:
    def checked(kind: type) -> type:
        if not is_own_class(kind) or not is_own_class(register.__self__):
            raise TypeError("register() takes classes defined in a cell, on an abstract class defined in a cell")
        return register(kind)  # type: ignore[no-any-return]

    return checked


def _checked_template_method(found: Any, name: str) -> Any:
    original = _TEMPLATE_METHODS[name]
    if found is original:

        def unbound(template: str, *args: Any, **kwargs: Any) -> str:
            return _format(original, template, args, kwargs)

        return unbound
    template = getattr(found, "__self__", None)
    if type(found) is types.BuiltinFunctionType and isinstance(template, str):

        def bound(*args: Any, **kwargs: Any) -> str:
            return _format(original, template, args, kwargs)

        return bound
    return found


def _format(original: Callable[..., str], template: str, args: Any, kwargs: Any) -> str:
    reason = template_refusal(str.__str__(template))
    if reason is not None:
        raise AttributeError(reason)
    return original(template, *args, **kwargs)


def writable(value: Any, name: str = "") -> Any:
    """Return an object whose attributes a cell may set or delete.

    Args:
        value: Any object.
        name: The attribute, when it is private.

    Raises:
        AttributeError: When a foreign base class keeps the attribute for itself.
        TypeError: When the object is not the cell's own: modules, foreign classes and functions are read-only.
    """
    if name.startswith("_") and not is_plain(name) and not is_dunder(name) and not is_own_function(value):
        reason = private_refusal(value, name)
        if reason is not None:
            raise AttributeError(reason)
    if is_own(value) or (isinstance(value, _WRITABLE_TYPES) and not isinstance(value, type)):
        return value
    if type(value).__module__.partition(".")[0] in OPTED_IN and not isinstance(value, type):
        return value
    what = f"class {value.__name__!r}" if isinstance(value, type) else f"{type(value).__name__!r} object"
    raise TypeError(f"the attributes of this {what} are read-only: derive a class of your own, or use a variable")


def _checked_write(value: Any, name: str) -> str:
    name = str.__str__(name)
    reason = attribute_refusal(name, writing=True)
    if reason is not None:
        raise AttributeError(reason)
    writable(value, name)
    return name


def _writer(value: Any, name: str) -> Callable[..., None]:
    """Stand in for `__setattr__` and `__delattr__`, read from `object`, a class, an instance or `super()`."""
    found = getattr(value, name)
    # Bound to an instance (also through super()), or still waiting for one (object.__setattr__).
    owner = getattr(found, "__self__", None) if not isinstance(value, type) else None

    def write(*args: Any) -> None:
        target, *rest = args if owner is None else (owner, *args)
        _checked_write(target, rest[0])
        found(*args)

    return write


_MISSING: Any = object()


def safe_getattr(value: Any, name: str, default: Any = _MISSING, /) -> Any:
    """Stand in for `getattr`: closed attributes raise, also when a default is given, so that code notices."""
    if default is _MISSING:
        return read(value, name)
    if not is_plain(str.__str__(name)) and (reason := attribute_refusal(name)):
        raise AttributeError(reason)
    try:
        return read(value, name)
    except AttributeError:
        return default


def safe_setattr(value: Any, name: str, new: Any, /) -> None:
    """Stand in for `setattr`: own objects and checked names only."""
    setattr(value, _checked_write(value, name), new)


def safe_delattr(value: Any, name: str, /) -> None:
    """Stand in for `delattr`: own objects and checked names only."""
    delattr(value, _checked_write(value, name))


def safe_hasattr(value: Any, name: str, /) -> bool:
    """Stand in for `hasattr`: it tells a fact and hands nothing over, so closed names are answered too."""
    name = str.__str__(name)
    if is_dunder(name) or is_plain(name) or name in PLAIN_PRIVATE:
        return hasattr(value, name)
    try:
        read(value, name)
    except AttributeError:
        return False
    return True
