"""The walk over a cell's syntax tree: every node is harmless in itself, or handled by the policy, or refused.

The walk keeps its own stack: RestrictedPython's recursive one fails at some 245 summands.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Sequence
from typing import ClassVar

from RestrictedPython.transformer import RestrictingNodeTransformer

from .outcomes import Refusal
from .policy_names import ABSENT_BUILTINS, DEFINABLE_NAMES, SPECIAL_METHODS, is_dunder
from .policy_nodes import HARMLESS, LEAVES

Visited = ast.AST | list[ast.stmt]


def load(name: str, at: ast.AST) -> ast.Name:
    return ast.copy_location(ast.Name(name, ast.Load()), at)


def call(guard: str, args: list[ast.expr], at: ast.AST) -> ast.Call:
    return ast.copy_location(ast.Call(load(guard, at), args, []), at)


def constant(value: str | bool | None, at: ast.AST) -> ast.Constant:
    return ast.copy_location(ast.Constant(value), at)


class PolicyWalk(RestrictingNodeTransformer):
    """Walk a tree in place, collect what is refused in `refusals`, and check every name.

    Args:
        lines: The cell's source lines, for the text of a refusal.
        known: Names bound in the session, which hide absent builtins of the same name.
    """

    handlers: ClassVar[dict[type[ast.AST], Callable[..., Visited]]] = {}

    def __init__(self, lines: Sequence[str], known: Container[str]) -> None:
        super().__init__()
        self.refusals: list[Refusal] = []
        self._lines = lines
        self._known = known
        self._pending: list[ast.AST] = []
        self._absent: list[ast.Name] = []
        self._literal_match_args: set[ast.AST] = set()

    def error(self, node: ast.AST, info: str) -> None:
        """Collect a refusal at the node's line."""
        line = getattr(node, "lineno", 1)
        text = self._lines[line - 1].strip() if 0 < line <= len(self._lines) else ""
        refusal = Refusal(line, text, info)
        if refusal not in self.refusals:
            self.refusals.append(refusal)

    def visit(self, node: ast.AST) -> ast.AST:
        """Check and rewrite a whole tree in place."""
        self._pending = [node]
        while self._pending:
            parent = self._pending.pop()
            for field in parent._fields:
                value = getattr(parent, field, None)
                if isinstance(value, list):
                    self._visit_list(value)
                elif isinstance(value, ast.AST):
                    entered = self._enter(value)
                    if entered is not value:
                        setattr(parent, field, entered)
        self._refuse_absent(node)
        self.refusals.sort(key=lambda refusal: refusal.line)
        return node

    def _visit_list(self, values: list[ast.AST]) -> None:
        fresh: list[ast.AST] = []
        for value in values:
            entered = self._enter(value) if isinstance(value, ast.AST) else value
            if isinstance(entered, list):
                fresh.extend(entered)
            else:
                fresh.append(entered)
        values[:] = fresh

    def _enter(self, node: ast.AST) -> Visited:
        kind = type(node)
        if kind in LEAVES:
            return node
        if kind in HARMLESS:
            self._pending.append(node)
            return node
        handler = self.handlers.get(kind)
        if handler is None:
            self.error(
                node,
                f"{kind.__name__} is not available here: write it with plain statements",
            )
            return node
        return handler(self, node)

    def _later(self, node: ast.AST) -> ast.AST:
        self._pending.append(node)
        return node

    # Names

    def _bind(self, node: ast.AST, name: str | None) -> None:
        if name is not None and is_dunder(name) and name not in DEFINABLE_NAMES:
            hint = f"write {name[1:]!r}" if not name.endswith("__") else "choose a name without underscores"
            self.error(node, f"names with two leading underscores are closed: {hint}")
        if name == "__match_args__" and node not in self._literal_match_args:
            self.error(
                node,
                "__match_args__ can only be a literal tuple of public attribute names in a class",
            )

    def _name(self, node: ast.Name) -> Visited:
        if not isinstance(node.ctx, ast.Load):
            self._bind(node, node.id)
        elif node.id in ABSENT_BUILTINS:
            self._absent.append(node)
        elif is_dunder(node.id) and node.id not in SPECIAL_METHODS and node.id not in ("__name__", "__doc__"):
            self._bind(node, node.id)
        return node

    def _refuse_absent(self, tree: ast.AST) -> None:
        """Refuse absent builtins unless the cell or the session gives the name a meaning of its own."""
        if not self._absent:
            return
        bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                bound.add(node.name)
            elif isinstance(node, ast.arg):
                bound.add(node.arg)
        for name in self._absent:
            if is_dunder(name.id) or (name.id not in bound and name.id not in self._known):
                self.error(
                    name,
                    f"{name.id!r} is not available here: {ABSENT_BUILTINS[name.id]}",
                )

    def _scope(self, node: ast.Global | ast.Nonlocal) -> Visited:
        for name in node.names:
            self._bind(node, name)
        return node

    def _arg(self, node: ast.arg) -> Visited:
        self._bind(node, node.arg)
        return self._later(node)

    def _keyword(self, node: ast.keyword) -> Visited:
        self._bind(node, node.arg)
        return self._later(node)
