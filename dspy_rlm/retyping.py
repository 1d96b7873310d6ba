"""Lines that type data over an input, which weak root LMs write from its preview and then answer from the fragment."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass

_LONG = 80  # characters of a literal from which on it is data


@dataclass(frozen=True)
class Retyped:
    """A statement that replaces an input by a long text it spells out.

    Attributes:
        name: The input.
        line: The statement's first line, from 1.
    """

    name: str
    line: int


def without_retyped(code: str, inputs: Collection[str]) -> tuple[str, list[Retyped]]:
    """The cell without the statements that type a long text over an input, and these statements.

    What follows keeps its line numbers.

    Args:
        code: The cell.
        inputs: Names of the inputs.

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
    found = sorted(_retypings(tree, inputs), key=lambda node: (node.lineno, node.col_offset))
    for node in reversed(found):  # what stands before a statement keeps its place
        _leave_out(lines, node)
    return b"".join(lines).decode(), [Retyped(_name(node), node.lineno) for node in found]


def _retypings(tree: ast.Module, inputs: Collection[str]) -> Iterator[ast.Assign]:
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str() as text)):
                if name in inputs and len(text) >= _LONG:
                    yield node


def _name(node: ast.Assign) -> str:
    return ast.unparse(node.targets[0])


def _leave_out(lines: list[bytes], node: ast.Assign) -> None:
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    rest = lines[last][node.end_col_offset :]
    lines[first : last + 1] = [lines[first][: node.col_offset] + b"pass" + rest, *[b"\n"] * (last - first)]
