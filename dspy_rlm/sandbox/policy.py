"""The inner wall's compiler: checks a cell's syntax tree and rewrites what only a guard can decide.

Every node kind is either in `HARMLESS`, or has a method here, or is refused. What can be decided from the source
is decided here, so that it costs nothing when the cell runs: plain attributes, subscripts, calls, iteration and
unpacking stay as they are. The rewritten places call guards under names such as `<read>`, which no source text
can spell, so a cell can neither call nor rebind them.

The walk keeps its own stack: RestrictedPython's recursive one fails at some 245 summands.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Iterable, Sequence

from RestrictedPython.transformer import RestrictingNodeTransformer

from .formatting_templates import template_refusal
from .outcomes import Refusal
from .policy_names import (
    ABSENT_BUILTINS,
    DEFINABLE_NAMES,
    GUARDED_ATTRIBUTES,
    MODULE_HINTS,
    PLAIN_PRIVATE,
    SPECIAL_METHODS,
    attribute_refusal,
    is_dunder,
    is_plain,
)
from .policy_nodes import HARMLESS, LEAVES

READ = "<read>"
WRITABLE = "<writable>"
TYPE = "<type>"
OWN = "<own>"
IMPORT = "<import>"
SUBMIT_SIGNAL = "<submit signal>"
VALUE = "<value>"

_CATCHES_IMPORT_ERROR = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}

Visited = ast.AST | list[ast.stmt]


def _load(name: str, at: ast.AST) -> ast.Name:
    return ast.copy_location(ast.Name(name, ast.Load()), at)


def _call(guard: str, args: list[ast.expr], at: ast.AST) -> ast.Call:
    return ast.copy_location(ast.Call(_load(guard, at), args, []), at)


def _constant(value: str | bool | None, at: ast.AST) -> ast.Constant:
    return ast.copy_location(ast.Constant(value), at)


class CellPolicy(RestrictingNodeTransformer):
    """Check and rewrite one cell's tree; what is refused is collected in `refusals`.

    Args:
        lines: The cell's source lines, for the text of a refusal.
        known: Names bound in the session, which hide absent builtins of the same name.
        find_module: Returns the public names of an importable module, or None when cells do not have it.
    """

    def __init__(
        self, lines: Sequence[str], known: Container[str], find_module: Callable[[str], Iterable[str] | None]
    ) -> None:
        super().__init__()
        self.refusals: list[Refusal] = []
        self._lines = lines
        self._known = known
        self._find_module = find_module
        self._pending: list[ast.AST] = []
        self._absent: list[ast.Name] = []
        self._tolerated_imports: set[ast.AST] = set()
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
        handler = _HANDLERS.get(kind)
        if handler is None:
            self.error(node, f"{kind.__name__} is not available here: write it with plain statements")
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
            self.error(node, "__match_args__ can only be a literal tuple of public attribute names in a class")

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
                self.error(name, f"{name.id!r} is not available here: {ABSENT_BUILTINS[name.id]}")

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

    # Attributes

    def _attribute(self, node: ast.Attribute) -> Visited:
        writing = not isinstance(node.ctx, ast.Load)
        reason = attribute_refusal(node.attr, writing=writing)
        if reason is not None and not writing and node.attr in ("__setattr__", "__delattr__"):
            return self._later(_call(READ, [node.value, _constant(node.attr, node)], node))
        if reason is not None:
            self.error(node, reason)
        elif writing:
            node.value = self._checked(node.value, WRITABLE)
        elif node.attr in GUARDED_ATTRIBUTES:
            if not self._is_harmless_template(node):
                return self._later(_call(READ, [node.value, _constant(node.attr, node)], node))
        elif node.attr.startswith("_") and not is_dunder(node.attr) and node.attr not in PLAIN_PRIVATE:
            return self._private(node)
        return self._later(node)

    def _private(self, node: ast.Attribute) -> Visited:
        read = _call(READ, [node.value, _constant(node.attr, node)], node)
        if not isinstance(node.value, ast.Name):
            return self._later(read)
        self._name(node.value)
        return ast.copy_location(ast.IfExp(self._is_own(node.value), node, read), node)

    def _checked(self, value: ast.expr, guard: str) -> ast.expr:
        """Wrap an object that is written to; one of a cell's own class, the usual case, skips the guard's call."""
        call = _call(guard, [value], value)
        if not isinstance(value, ast.Name):
            return call
        return ast.copy_location(ast.IfExp(self._is_own(value), value, call), value)

    @staticmethod
    def _is_own(value: ast.Name) -> ast.Compare:
        test = ast.Compare(_call(TYPE, [value], value), [ast.In()], [_load(OWN, value)])
        return ast.copy_location(test, value)

    @staticmethod
    def _is_harmless_template(node: ast.Attribute) -> bool:
        template = node.value
        return (
            node.attr in ("format", "format_map")
            and isinstance(template, ast.Constant)
            and isinstance(template.value, str)
            and template_refusal(template.value) is None
        )

    # Statements

    @staticmethod
    def show_value(node: ast.Module) -> ast.Module:
        """Keep the value of a trailing expression, as a notebook does."""
        last = node.body[-1] if node.body else None
        if isinstance(last, ast.Expr):
            target = ast.copy_location(ast.Name(VALUE, ast.Store()), last)
            node.body[-1] = ast.copy_location(ast.Assign([target], last.value), last)
        return node

    def _assign(self, node: ast.Assign) -> Visited:
        if len(node.targets) == 1 and isinstance(target := node.targets[0], ast.Name):
            if target.id == "__match_args__" and self._is_plain_tuple(node.value):
                self._literal_match_args.add(target)
        return self._later(node)

    @staticmethod
    def _is_plain_tuple(value: ast.expr) -> bool:
        return isinstance(value, ast.Tuple) and all(
            isinstance(item, ast.Constant) and isinstance(item.value, str) and is_plain(item.value)
            for item in value.elts
        )

    def _ann_assign(self, node: ast.AnnAssign) -> Visited:
        if isinstance(node.target, ast.Name) and is_dunder(node.target.id):
            self.error(node, "names with two leading underscores cannot be annotated: choose another name")
        return self._later(node)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Visited:
        name = node.name
        if isinstance(node, ast.ClassDef) or name in ("__slots__", "__match_args__", "__doc__"):
            if is_dunder(name):
                self.error(node, f"{name!r} cannot be defined here: choose a name without leading underscores")
        elif is_dunder(name) and name not in DEFINABLE_NAMES:
            self.error(node, f"the method {name!r} cannot be defined here: use an ordinary method")
        return self._later(node)

    def _try(self, node: ast.Try) -> Visited:
        """Let the submit signal pass every handler, and let a failing import reach the handler written for it."""
        if any(self._catches_import_error(handler) for handler in node.handlers):
            self._tolerated_imports.update(node.body)
        if node.handlers:
            first = node.handlers[0]
            passing = ast.ExceptHandler(_load(SUBMIT_SIGNAL, first), None, [ast.copy_location(ast.Raise(), first)])
            node.handlers.insert(0, ast.copy_location(passing, first))
        return self._later(node)

    @staticmethod
    def _catches_import_error(handler: ast.ExceptHandler) -> bool:
        kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        return any(kind is None or getattr(kind, "id", None) in _CATCHES_IMPORT_ERROR for kind in kinds)

    def _handler(self, node: ast.ExceptHandler) -> Visited:
        self._bind(node, node.name)
        return self._later(node)

    # Imports

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
            self.error(node, "relative imports are not available here: there are no packages around a cell")
            return node
        public = self._check_module(node, node.module)
        bound: list[ast.stmt] = []
        for alias in node.names:
            names = sorted(public or ()) if alias.name == "*" else [alias.name]
            for name in names:
                bound.append(self._bound_import(node, alias.asname or name, node.module, name, top=False))
        return bound or ast.copy_location(ast.Pass(), node)

    def _check_module(self, node: ast.stmt, module: str) -> Iterable[str] | None:
        public = self._find_module(module)
        if public is None and node not in self._tolerated_imports:
            hint = MODULE_HINTS.get(module) or MODULE_HINTS.get(module.partition(".")[0])
            self.error(node, f"the module {module!r} is not available here: {hint or 'write it in plain Python'}")
        return public

    def _bound_import(self, node: ast.stmt, target: str, module: str, name: str | None, *, top: bool) -> ast.stmt:
        self._bind(node, target)
        where = [_constant(module, node), _constant(name, node), _constant(top, node)]
        store = ast.copy_location(ast.Name(target, ast.Store()), node)
        return ast.copy_location(ast.Assign([store], _call(IMPORT, list(where), node)), node)

    # Patterns: what they read are plain strings in the tree, and nothing in them can be rewritten.

    def _pattern_path(self, node: ast.expr) -> None:
        step: ast.expr = node
        while isinstance(step, ast.Attribute):
            self._pattern_attribute(step, step.attr)
            step = step.value
        if isinstance(step, ast.Name):
            self._name(step)

    def _pattern_attribute(self, node: ast.AST, name: str) -> None:
        if not is_plain(name):
            self.error(node, f"a pattern cannot read the attribute {name!r}: use an if statement")

    def _match_class(self, node: ast.MatchClass) -> Visited:
        self._pattern_path(node.cls)
        for name in node.kwd_attrs:
            self._pattern_attribute(node, name)
        self._visit_list(node.patterns)  # type: ignore[arg-type]  # a list of patterns stays one
        self._visit_list(node.kwd_patterns)  # type: ignore[arg-type]
        return node

    def _match_value(self, node: ast.MatchValue) -> Visited:
        self._pattern_path(node.value)
        return node

    def _match_mapping(self, node: ast.MatchMapping) -> Visited:
        for key in node.keys:
            self._pattern_path(key)
        self._bind(node, node.rest)
        self._visit_list(node.patterns)  # type: ignore[arg-type]
        return node

    def _match_name(self, node: ast.MatchAs | ast.MatchStar) -> Visited:
        self._bind(node, node.name)
        return self._later(node)

    # Type parameters and aliases (Python 3.12)

    def _type_parameter(self, node: ast.AST) -> Visited:
        self._bind(node, getattr(node, "name", None))
        return self._later(node)


_HANDLERS: dict[type[ast.AST], Callable[..., Visited]] = {
    ast.Name: CellPolicy._name,
    ast.Global: CellPolicy._scope,
    ast.Nonlocal: CellPolicy._scope,
    ast.arg: CellPolicy._arg,
    ast.keyword: CellPolicy._keyword,
    ast.Attribute: CellPolicy._attribute,
    ast.Assign: CellPolicy._assign,
    ast.AnnAssign: CellPolicy._ann_assign,
    ast.FunctionDef: CellPolicy._definition,
    ast.AsyncFunctionDef: CellPolicy._definition,
    ast.ClassDef: CellPolicy._definition,
    ast.Try: CellPolicy._try,
    ast.ExceptHandler: CellPolicy._handler,
    ast.Import: CellPolicy._import,
    ast.ImportFrom: CellPolicy._import_from,
    ast.MatchClass: CellPolicy._match_class,
    ast.MatchValue: CellPolicy._match_value,
    ast.MatchMapping: CellPolicy._match_mapping,
    ast.MatchAs: CellPolicy._match_name,
    ast.MatchStar: CellPolicy._match_name,
}
for _kind in ("TypeVar", "ParamSpec", "TypeVarTuple"):
    if hasattr(ast, _kind):
        _HANDLERS[getattr(ast, _kind)] = CellPolicy._type_parameter
