"""Private names that foreign base classes keep for themselves, so that a cell's subclass cannot use them either."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import Any

from .policy_names import is_dunder, words

# Hooks and tables that the documentation hands to subclasses, and an opaque handle that no permitted call takes.
_FOR_SUBCLASSES = frozenset(
    words("""
    _value_ _name_ _missing_ _generate_next_value_ _ignore_ _order_ _member_map_ _member_names_ _value2member_map_
    _from_iterable _hash _asdict _fields _field_defaults _make _replace _abc_impl
""")
)


@functools.cache
def kept_names(kind: type) -> frozenset[str]:
    """List the private names that one foreign class defines, or that its code uses on its instances."""
    names = set(vars(kind))
    for value in vars(kind).values():
        for code in _codes(value):
            names.update(code.co_names)
    return frozenset(name for name in names if _is_private(name)) - _FOR_SUBCLASSES


def _is_private(name: str) -> bool:
    return name.startswith("_") and not is_dunder(name)


def _codes(value: Any) -> Iterator[types.CodeType]:
    if isinstance(value, property):
        parts = [value.fget, value.fset, value.fdel]
    elif isinstance(value, classmethod | staticmethod):
        parts = [value.__func__]
    else:
        parts = [value]
    pending = [part.__code__ for part in parts if isinstance(part, types.FunctionType)]
    while pending:
        code = pending.pop()
        yield code
        pending += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
