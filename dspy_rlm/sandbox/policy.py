"""The inner wall's compiler: checks a cell's syntax tree and rewrites what only a guard can decide.

Every node kind is either in `HARMLESS`, or has a method here, or is refused. What can be decided from the source
is decided here, so that it costs nothing when the cell runs: plain attributes, subscripts, calls, iteration and
unpacking stay as they are. The rewritten places call guards under names such as `<read>`, which no source text
can spell, so a cell can neither call nor rebind them.
"""

from __future__ import annotations

import ast

from .formatting_templates import template_refusal
from .policy_imports import ImportPolicy
from .policy_names import (
    DEFINABLE_NAMES,
    GUARDED_ATTRIBUTES,
    PLAIN_PRIVATE,
    attribute_refusal,
    is_dunder,
    is_plain,
)
from .policy_walk import Visited, call, constant, load

READ = "<read>"
WRITABLE = "<writable>"
TYPE = "<type>"
OWN = "<own>"
FREE = "<free>"
SUBMIT_SIGNAL = "<submit signal>"
VALUE = "<value>"


class CellPolicy(ImportPolicy):
    """Check and rewrite one cell's tree; what is refused is collected in `refusals`."""

    # Attributes

    def _attribute(self, node: ast.Attribute) -> Visited:
        writing = not isinstance(node.ctx, ast.Load)
        reason = attribute_refusal(node.attr, writing=writing)
        if reason is not None and not writing and node.attr in ("__setattr__", "__delattr__"):
            return self._later(call(READ, [node.value, constant(node.attr, node)], node))
        if reason is not None:
            self.error(node, reason)
        elif writing:
            node.value = self._checked(node)
        elif node.attr in GUARDED_ATTRIBUTES:
            if not self._is_harmless_template(node):
                return self._later(call(READ, [node.value, constant(node.attr, node)], node))
        elif node.attr.startswith("_") and not is_dunder(node.attr) and node.attr not in PLAIN_PRIVATE:
            return self._private(node)
        return self._later(node)

    def _private(self, node: ast.Attribute) -> Visited:
        read = call(READ, [node.value, constant(node.attr, node)], node)
        if not isinstance(node.value, ast.Name):
            return self._later(read)
        self._name(node.value)
        return ast.copy_location(ast.IfExp(self._is_in(FREE, node.value), node, read), node)

    def _checked(self, node: ast.Attribute) -> ast.expr:
        """Wrap an object that is written to; one of a cell's own class, the usual case, skips the guard's call."""
        value, private = node.value, node.attr.startswith("_")
        guarded = call(WRITABLE, [value, constant(node.attr, value)] if private else [value], value)
        if not isinstance(value, ast.Name):
            return guarded
        return ast.copy_location(ast.IfExp(self._is_in(FREE if private else OWN, value), value, guarded), value)

    @staticmethod
    def _is_in(classes: str, value: ast.Name) -> ast.Compare:
        test = ast.Compare(call(TYPE, [value], value), [ast.In()], [load(classes, value)])
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
        target = node.targets[0]
        is_match_args = isinstance(target, ast.Name) and target.id == "__match_args__"
        if is_match_args and len(node.targets) == 1 and self._is_plain_tuple(node.value):
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
            self.error(
                node,
                "names with two leading underscores cannot be annotated: choose another name",
            )
        return self._later(node)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Visited:
        name = node.name
        if isinstance(node, ast.ClassDef) or name in (
            "__slots__",
            "__match_args__",
            "__doc__",
        ):
            if is_dunder(name):
                self.error(
                    node,
                    f"{name!r} cannot be defined here: choose a name without leading underscores",
                )
        elif is_dunder(name) and name not in DEFINABLE_NAMES:
            self.error(
                node,
                f"the method {name!r} cannot be defined here: use an ordinary method",
            )
        return self._later(node)

    def _try(self, node: ast.Try) -> Visited:
        """Let the submit signal pass every handler, and let a failing import reach the handler written for it."""
        self._tolerate_imports(node)
        if node.handlers:
            first = node.handlers[0]
            passing = ast.ExceptHandler(
                load(SUBMIT_SIGNAL, first),
                None,
                [ast.copy_location(ast.Raise(), first)],
            )
            node.handlers.insert(0, ast.copy_location(passing, first))
        return self._later(node)

    def _handler(self, node: ast.ExceptHandler) -> Visited:
        self._bind(node, node.name)
        return self._later(node)

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
            self.error(
                node,
                f"a pattern cannot read the attribute {name!r}: use an if statement",
            )

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


CellPolicy.handlers = {
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
        CellPolicy.handlers[getattr(ast, _kind)] = CellPolicy._type_parameter
