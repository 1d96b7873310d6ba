"""The builtins of a cell: a table of our own, each group with the reason why it is harmless."""

from __future__ import annotations

import builtins
import sys
from types import ModuleType
from typing import Any, NoReturn

from . import guards, guards_classes
from .policy import FREE, OWN, READ, TYPE, WRITABLE
from .policy_names import words

# Pure functions of their arguments: they call the operands' own methods and reach nothing else.
_PURE = words("""
abs aiter all anext any ascii bin callable chr divmod filter format hash hex id isinstance issubclass iter len map max
min next oct ord pow repr reversed round sorted sum zip enumerate range slice dir
""")

# Immutable classes of C whose constructors take values only.
_CLASSES = words("""
bool bytearray bytes complex dict float frozenset int list memoryview object set str tuple
classmethod property staticmethod super
""")

# Constants.
_CONSTANTS = words("None True False Ellipsis NotImplemented")

# Exceptions carry what their raiser put in; the warnings among them too.
_EXCEPTIONS = [
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException) and not name.startswith("_")
]


def safe_print(
    *values: Any,
    sep: str | None = " ",
    end: str | None = "\n",
    file: Any = None,
    flush: bool = False,
) -> None:
    """Stand-in for `print`: writes to the cell's output, or to a file object of the cell."""
    for name, separator in (("sep", sep), ("end", end)):
        if separator is not None and not isinstance(separator, str):
            raise TypeError(f"{name} must be None or a string, not {type(separator).__name__}")
    stream = sys.stdout if file is None else file
    # Two writes, so that a huge text is not copied for the sake of its line end.
    stream.write((" " if sep is None else sep).join(map(str, values)))
    stream.write("\n" if end is None else end)
    if flush:
        stream.flush()


def _exit(code: object = None) -> NoReturn:
    """End the cell, not the session."""
    raise SystemExit(code)


def internal_import(
    name: str,
    globals: object = None,
    locals: object = None,
    fromlist: object = (),
    level: int = 0,
) -> ModuleType:
    """Serve C code that imports on behalf of a cell: `strptime`, `strftime` and `re` do so at every call.

    A cell's own import statements do not come here, and no cell can name this function. Only modules of the standard
    library that are loaded already are handed over.

    Raises:
        ImportError: For every other module.
    """
    module = sys.modules.get(name)
    if level or module is None or name.partition(".")[0] not in sys.stdlib_module_names:
        raise ImportError(f"the module {name!r} is not available inside a cell", name=name)
    return module if fromlist else sys.modules[name.partition(".")[0]]


def make_builtins() -> dict[str, Any]:
    """Make the builtins that all sessions of a process start from."""
    table = {name: getattr(builtins, name) for name in [*_PURE, *_CLASSES, *_CONSTANTS, *_EXCEPTIONS]}
    return table | {
        # Stand-ins, each with the reason in its docstring.
        "print": safe_print,
        "type": guards_classes.safe_type,
        "getattr": guards.safe_getattr,
        "setattr": guards.safe_setattr,
        "delattr": guards.safe_delattr,
        "hasattr": guards.safe_hasattr,
        "exit": _exit,
        "quit": _exit,
        # What bytecode and C code call by themselves.
        "__build_class__": guards_classes.build_class,
        "__import__": internal_import,
        # What rewritten code calls.
        READ: guards.read,
        WRITABLE: guards.writable,
        TYPE: builtins.type,
        OWN: guards.OWN_CLASSES,
        FREE: guards.FREE_CLASSES,
    }
