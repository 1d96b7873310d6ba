"""`--output "ip: str, requests: int"` as names and types, and answers as text or JSON."""

from __future__ import annotations

import ast
import datetime
import decimal
import json
import keyword
import math
from collections.abc import Mapping
from typing import Any, Literal, Optional, Union

import typer

DEFAULT_OUTPUT = "answer: str"

_TYPES: dict[str, Any] = {
    **{kind.__name__: kind for kind in (str, int, float, bool, bytes, list, dict, tuple, set)},
    **{kind.__name__: kind for kind in (datetime.date, datetime.datetime, datetime.time, datetime.timedelta)},
    "Decimal": decimal.Decimal,
    "Any": Any,
    "List": list,
    "Dict": dict,
    "Tuple": tuple,
    "Set": set,
}
_GENERICS: dict[str, Any] = {"Literal": Literal, "Optional": Optional, "Union": Union}


def parse_outputs(text: str) -> dict[str, Any]:
    """The types of the outputs by name.

    Args:
        text: Names, each with an optional type (default `str`), separated by commas.

    Raises:
        typer.BadParameter: the text cannot be read as that; it says what is wrong.

    Example:
        >>> parse_outputs("ip, requests: int, seen: list[str] | None")
        {'ip': <class 'str'>, 'requests': <class 'int'>, 'seen': typing.Optional[list[str]]}
    """
    outputs: dict[str, Any] = {}
    for argument in _arguments(text):
        if argument.arg in outputs:
            raise _bad(text, f"the name {argument.arg!r} comes twice")
        outputs[argument.arg] = str if argument.annotation is None else _type(argument.annotation, text)
    if not outputs:
        raise _bad(text, "it names no output")
    return outputs


def as_json(values: Mapping[str, Any]) -> str:
    """Any values as one JSON object, indented; numbers that JSON lacks as the texts "NaN", "Infinity", "-Infinity"."""
    return _json(values, indent=2)


def as_text(outputs: Mapping[str, Any]) -> str:
    """A single output's value, or a line `name: value` for each of several."""
    if len(outputs) == 1:
        return _shown(next(iter(outputs.values())))
    return "\n".join(f"{name}: {_shown(value)}" for name, value in outputs.items())


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)


def _json(value: Any, indent: int | None = None) -> str:
    from pydantic_core import to_jsonable_python

    # Python's own writer takes any text, half a surrogate pair too, which file names and replies may hold.
    plain = _finite(to_jsonable_python(value, bytes_mode="base64", fallback=str))
    return json.dumps(plain, indent=indent, ensure_ascii=False, separators=None if indent else (",", ":"))


def _finite(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case list():
            return [_finite(item) for item in value]
        case dict():
            return {name: _finite(item) for name, item in value.items()}
        case _:
            return value


def _arguments(text: str) -> list[ast.arg]:
    for name in (part.split(":")[0].strip() for part in text.split(",")):
        if keyword.iskeyword(name):
            raise _bad(text, f"{name!r} is a word of Python's own")
    try:
        parsed = ast.parse(f"def outputs(*, {text}\n): pass" if text.strip() else "def outputs(): pass").body
    except (SyntaxError, ValueError):  # ValueError: a zero character
        raise _bad(text, "it is not a list of names and types") from None
    if len(parsed) != 1 or not isinstance(parsed[0], ast.FunctionDef) or parsed[0].returns:
        raise _bad(text, "it is not a list of names and types")
    arguments = parsed[0].args
    if arguments.kwarg or arguments.posonlyargs or any(default is not None for default in arguments.kw_defaults):
        raise _bad(text, "outputs have neither stars nor defaults")
    return arguments.kwonlyargs


def _type(node: ast.expr, text: str) -> Any:
    match node:
        case ast.Constant(value=None):
            return None
        case ast.Name(id=name) if name in _TYPES:
            return _TYPES[name]
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _generic("Union", (_type(left, text), _type(right, text)), text)
        case ast.Subscript(value=ast.Name(id="Literal"), slice=choices):
            return Literal[_literal(choices, text)]
        case ast.Subscript(value=ast.Name(id=name), slice=inner) if name in _TYPES or name in _GENERICS:
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return _generic(name, tuple(_part(part, text) for part in parts), text)
    raise _bad(text, f"{ast.unparse(node)!r} is no type known here; there are {', '.join([*_TYPES, *_GENERICS])}")


def _part(node: ast.expr, text: str) -> Any:
    return ... if isinstance(node, ast.Constant) and node.value is ... else _type(node, text)


def _generic(name: str, parts: tuple[Any, ...], text: str) -> Any:
    try:
        return {**_TYPES, **_GENERICS}[name][parts if len(parts) > 1 else parts[0]]
    except TypeError as error:
        raise _bad(text, f"{name}[...] cannot have these parts: {error}") from None


def _literal(node: ast.expr, text: str) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise _bad(text, f"Literal[{ast.unparse(node)}] must hold plain values such as 'yes' or 3") from None


def _bad(text: str, why: str) -> typer.BadParameter:
    return typer.BadParameter(
        f"{text!r} cannot be read: {why}. Write it as 'ip: str, requests: int'.", param_hint="--output"
    )
