"""Which names and attributes a cell may use: the tables behind the policy and the run-time guards.

Three tiers of attribute names. *Plain* names compile to ordinary bytecode: no reachable object holds anything
harmful under them. *Guarded* names are harmful on some objects (`str.format`) and ordinary on others, so a guard
looks at the object. *Closed* names are refused wherever they are written.
"""

from __future__ import annotations

import types


def words(text: str) -> list[str]:
    """Split a table of names written as text."""
    return text.split()


# Ordinary special methods: a cell's classes may define them, and reading them yields nothing but a method.
# Left out on purpose: __reduce__ and its kin (copy would set attributes on any object), __getattribute__
# (unchecked computed access), __del__ (runs while our code runs), the hooks of metaclasses.
SPECIAL_METHODS = frozenset(
    words("""
    __init__ __new__ __post_init__ __init_subclass__ __class_getitem__ __call__ __repr__ __str__ __format__
    __bytes__ __bool__ __hash__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __len__ __length_hint__ __iter__ __next__
    __reversed__ __contains__ __getitem__ __setitem__ __delitem__ __missing__ __enter__ __exit__ __aenter__
    __aexit__ __aiter__ __anext__ __await__ __int__ __float__ __complex__ __index__ __round__ __trunc__ __floor__
    __ceil__ __abs__ __neg__ __pos__ __invert__ __divmod__ __rdivmod__ __copy__ __deepcopy__ __dir__ __getattr__
""")
    + [
        f"__{prefix}{operation}__"
        for operation in words("add sub mul matmul truediv floordiv mod pow lshift rshift and or xor")
        for prefix in ("", "r", "i")
    ]
)

# May be defined in a class, never read: called with chosen arguments they write to objects of others.
DEFINED_ONLY = frozenset({"__setattr__", "__delattr__", "__get__", "__set__", "__delete__", "__set_name__"})

DEFINABLE_NAMES = SPECIAL_METHODS | DEFINED_ONLY | {"__slots__", "__match_args__", "__doc__"}

READABLE_DUNDERS = SPECIAL_METHODS | frozenset(
    {
        "__name__",  # a string
        "__qualname__",  # a string
        "__doc__",  # a string
        "__module__",  # a string
        "__version__",  # a string, of opt-in modules
        "__members__",  # an enum's members, as a read-only view
        "__cause__",  # an exception
        "__context__",  # an exception
        "__notes__",  # strings
    }
)

WRITABLE_DUNDERS = frozenset({"__name__", "__qualname__", "__doc__", "__cause__"})

_INTERPRETER_TYPES = (
    types.FrameType,
    types.CodeType,
    types.TracebackType,
    types.GeneratorType,
    types.CoroutineType,
    types.AsyncGeneratorType,
)

# Frames, code and tracebacks lead to globals of modules; mro() to base classes whose constructors open files;
# the methods of tasks to the event loop and to frames.
CLOSED_ATTRIBUTES = frozenset(
    name
    for kind in _INTERPRETER_TYPES
    for name in dir(kind)
    if name.startswith(("f_", "co_", "tb_", "gi_", "cr_", "ag_"))
) | {"mro", "get_loop", "get_stack", "print_stack", "cr_origin", "ag_await"}

# format, format_map: templates read attributes. obj: an AttributeError may carry a module.
# register: on an abstract class it makes isinstance, and so `match`, lie about foreign objects.
GUARDED_ATTRIBUTES = frozenset({"format", "format_map", "obj", "register"})

# Made by namedtuple and enum for the user to call, harmless on every object.
PLAIN_PRIVATE = frozenset({"_", "_asdict", "_fields", "_field_defaults", "_make", "_replace"})

ATTRIBUTE_HINTS = {
    "__class__": "write type(x) for x.__class__ (and type(x).__name__ for its name)",
    "__dict__": "name the attributes you need, or use dataclasses.asdict(x) for a dataclass",
    "__annotations__": "for a dataclass use dataclasses.fields(x)",
    "__setattr__": "write setattr(obj, name, value) or obj.name = value",
    "__delattr__": "write delattr(obj, name) or del obj.name",
    "__getattribute__": "write getattr(obj, name), or define __getattr__ instead",
    "__traceback__": "use traceback.format_exc() for the text of the trace",
    "__mro__": "use isinstance or issubclass",
    "__bases__": "use isinstance or issubclass",
    "mro": "use isinstance or issubclass",
}

_NO_FILES = "there are no files here: the data is already in the variables"
_NO_SCOPES = "name the variable itself (try: x / except NameError: to see whether it exists)"

# Builtins that cells do not have, with what to write instead.
ABSENT_BUILTINS = {
    "eval": "use ast.literal_eval or json.loads on data, or write the expression itself",
    "exec": "write the code itself",
    "compile": "write the code itself, or re.compile for a pattern",
    "open": _NO_FILES,
    "input": "there is nobody to ask: work with the variables you have",
    "globals": _NO_SCOPES,
    "locals": _NO_SCOPES,
    "vars": "name the attributes you need, or use dataclasses.asdict(x) for a dataclass",
    "breakpoint": "print what you want to see",
    "help": "print the function's __doc__",
    "__import__": "write an import statement",
    "__builtins__": "name the builtin itself",
    "__file__": _NO_FILES,
    "__loader__": "write an import statement",
    "__spec__": "write an import statement",
    "__annotations__": "for a dataclass use dataclasses.fields(x)",
}

_NO_SYSTEM = "there is no operating system here: work with the variables you have"
_NO_NETWORK = "there is no network here: work with the variables you have"

# Modules that models reach for and cells do not have.
MODULE_HINTS = {
    "os": _NO_FILES,
    "sys": "print writes the output, exit() is not needed, the data is already in the variables",
    "pathlib": _NO_FILES,
    "shutil": _NO_FILES,
    "glob": _NO_FILES,
    "tempfile": "use io.StringIO or io.BytesIO",
    "subprocess": _NO_SYSTEM,
    "multiprocessing": "use concurrent.futures.ThreadPoolExecutor",
    "signal": _NO_SYSTEM,
    "socket": _NO_NETWORK,
    "requests": _NO_NETWORK,
    "httpx": _NO_NETWORK,
    "urllib.request": _NO_NETWORK,
    "http": _NO_NETWORK,
    "openai": "call llm_query(prompt)",
    "pickle": "use json or copy.deepcopy",
    "marshal": "use json",
    "inspect": "print the function's __doc__",
    "builtins": "name the builtin itself",
    "importlib": "write an import statement",
    "ctypes": _NO_SYSTEM,
    "gc": "delete the variable with del",
    "logging": "use print",
    "numpy": "use statistics, math and lists; numpy is not enabled in this session",
    "pandas": "use csv, json and collections; pandas is not enabled in this session",
}


def is_dunder(name: str) -> bool:
    """Say whether a name starts with two underscores, the ending does not matter."""
    return name.startswith("__")


def is_plain(name: str) -> bool:
    """Say whether reading this attribute is harmless on every object a cell can reach."""
    if name in GUARDED_ATTRIBUTES or name in CLOSED_ATTRIBUTES:
        return False
    if name.startswith("_"):
        return name in READABLE_DUNDERS or name in PLAIN_PRIVATE
    return True


def attribute_refusal(name: str, *, writing: bool = False) -> str | None:
    """Say why an attribute name is closed.

    Args:
        name: The attribute's name.
        writing: True for assignment and deletion.

    Returns:
        The reason with what to write instead, or None when the name is plain or guarded.
    """
    if name in CLOSED_ATTRIBUTES:
        return f"the attribute {name!r} is closed: {ATTRIBUTE_HINTS.get(name, 'it leads into the interpreter')}"
    if not is_dunder(name) or name in (WRITABLE_DUNDERS if writing else READABLE_DUNDERS):
        return None
    hint = ATTRIBUTE_HINTS.get(name)
    if hint is None and name.endswith("__"):
        hint = "use the builtin function or operator that stands for it"
    return f"the attribute {name!r} is closed: {hint or f'write {name[1:]!r}, with one leading underscore'}"
