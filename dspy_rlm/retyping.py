"""Lines that type over what is set: data over an input, a body over a host function.

Weak root LMs write such lines from a preview or a signature, and then answer from the fragment or the imitation.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass

_LONG = 80  # characters of a literal from which on it is data
_Statement = ast.Assign | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Retyped:
    """A statement that replaces an input by long data it spells out, or defines a host function anew.

    Attributes:
        name: The input or function.
        line: The statement's first line, from 1.
    """

    name: str
    line: int


def without_retyped(code: str, inputs: Collection[str], functions: Collection[str] = ()) -> tuple[str, list[Retyped]]:
    """The cell without the statements that type over an input or a host function, and these statements.

    What follows keeps its line numbers.

    Args:
        code: The cell.
        inputs: Names of the inputs.
        functions: Names of the host functions.

    Example:
        >>> cell = "import re\\nlog = '''" + "10.0.0.1 GET /\\n" * 9 + "'''\\nprint(len(log))"
        >>> without_retyped(cell, ["log"])
        ('import re\\npass\\n\\n\\n\\n\\n\\n\\n\\n\\n\\nprint(len(log))', [Retyped(name='log', line=2)])
        >>> without_retyped("log = log.lower()", ["log"])
        ('log = log.lower()', [])
    """
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code, []  # the sandbox says what is wrong with it
    lines = code.encode().splitlines(keepends=True)
    found = sorted(_retypings(tree, inputs, functions), key=lambda node: (node.lineno, node.col_offset))
    for node in reversed(found):  # what stands before a statement keeps its place
        _leave_out(lines, node)
    return b"".join(lines).decode(), [Retyped(_name(node), _first_line(node)) for node in found]


def _retypings(tree: ast.Module, inputs: Collection[str], functions: Collection[str]) -> Iterator[_Statement]:
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in inputs and _is_long_data(value):
                yield node
    for statement in tree.body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name in functions:
                yield statement


def _is_long_data(value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return isinstance(value.value, str) and len(value.value) >= _LONG
    if not isinstance(value, ast.List | ast.Tuple | ast.Dict | ast.Set):
        return False
    try:
        return len(repr(ast.literal_eval(value))) >= _LONG
    except (ValueError, TypeError, MemoryError, RecursionError):
        return False  # it computes something


def _name(node: _Statement) -> str:
    return ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else node.name


def _first_line(node: _Statement) -> int:
    decorators = [] if isinstance(node, ast.Assign) else node.decorator_list
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _leave_out(lines: list[bytes], node: _Statement) -> None:
    first, last = _first_line(node) - 1, (node.end_lineno or node.lineno) - 1
    rest = lines[last][node.end_col_offset :]
    lines[first : last + 1] = [lines[first][: node.col_offset] + b"pass" + rest, *[b"\n"] * (last - first)]
