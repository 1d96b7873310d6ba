"""Import statements in cells: checked against the facades, and compiled to calls of the session's importer."""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Iterable, Sequence

from .policy_names import MODULE_HINTS
from .policy_walk import PolicyWalk, Visited, call, constant

IMPORT = "<import>"
_CATCHES_IMPORT_ERROR = {
    "ImportError",
    "ModuleNotFoundError",
    "Exception",
    "BaseException",
}


class ImportPolicy(PolicyWalk):
    """Check and rewrite import statements.

    Args:
        lines: The cell's source lines, for the text of a refusal.
        known: Names bound in the session, which hide absent builtins of the same name.
        find_module: Returns the public names of an importable module, or None when cells do not have it.
    """

    def __init__(
        self,
        lines: Sequence[str],
        known: Container[str],
        find_module: Callable[[str], Iterable[str] | None],
    ) -> None:
        super().__init__(lines, known)
        self._find_module = find_module
        self._tolerated_imports: set[ast.AST] = set()

    def _tolerate_imports(self, node: ast.Try) -> None:
        """Leave a missing module to run time where the cell has a handler for it."""
        if any(self._catches_import_error(handler) for handler in node.handlers):
            self._tolerated_imports.update(node.body)

    def _import(self, node: ast.Import) -> Visited:
        bound: list[ast.stmt] = []
        for alias in node.names:
            self._check_module(node, alias.name)
            target = alias.asname or alias.name.partition(".")[0]
            bound.append(self._bound_import(node, target, alias.name, None, top=alias.asname is None))
        return bound

    def _import_from(self, node: ast.ImportFrom) -> Visited:
        if node.module == "__future__" and not node.level:
            return node
        if node.level or node.module is None:
            self.error(
                node,
                "relative imports are not available here: there are no packages around a cell",
            )
            return node
        public = self._check_module(node, node.module)
        bound: list[ast.stmt] = []
        for alias in node.names:
            names = sorted(public or ()) if alias.name == "*" else [alias.name]
            bound.extend(self._bound_import(node, alias.asname or name, node.module, name, top=False) for name in names)
        return bound or ast.copy_location(ast.Pass(), node)

    def _check_module(self, node: ast.stmt, module: str) -> Iterable[str] | None:
        public = self._find_module(module)
        if public is None and node not in self._tolerated_imports:
            hint = MODULE_HINTS.get(module) or MODULE_HINTS.get(module.partition(".")[0])
            self.error(
                node,
                f"the module {module!r} is not available here: {hint or 'write it in plain Python'}",
            )
        return public

    def _bound_import(self, node: ast.stmt, target: str, module: str, name: str | None, *, top: bool) -> ast.stmt:
        self._bind(node, target)
        where = [constant(module, node), constant(name, node), constant(top, node)]
        store = ast.copy_location(ast.Name(target, ast.Store()), node)
        return ast.copy_location(ast.Assign([store], call(IMPORT, list(where), node)), node)

    @staticmethod
    def _catches_import_error(handler: ast.ExceptHandler) -> bool:
        kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        return any(kind is None or getattr(kind, "id", None) in _CATCHES_IMPORT_ERROR for kind in kinds)
