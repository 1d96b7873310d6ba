"""Cells that type data over an input, which weak root LMs do from its preview, and then answer from the fragment."""

from __future__ import annotations

import ast
from collections.abc import Collection

_LONG = 80  # characters of a literal from which on it is data


def typed_over(code: str, inputs: Collection[str]) -> tuple[str, int] | None:
    """The input that a cell replaces by a long text it spells out, and the line; None when it does not.

    Args:
        code: The cell.
        inputs: Names of the inputs.

    Example:
        >>> typed_over("import re\\nlog = '''" + "10.0.0.1 GET /" * 9 + "'''", ["log"])
        ('log', 2)
        >>> typed_over("log = log.lower()", ["log"])
    """
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # the sandbox says what is wrong with it
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str() as text)):
                if name in inputs and len(text) >= _LONG:
                    return name, node.lineno
    return None
