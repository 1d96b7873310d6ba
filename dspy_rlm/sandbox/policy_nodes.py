"""Which kinds of syntax node need no check of their own; every kind in neither table needs a method of the policy."""

from __future__ import annotations

import ast

# Nothing to check in these themselves, only in their parts.
HARMLESS: frozenset[type[ast.AST]] = frozenset(
    {
        # containers and literals
        *(
            ast.List,
            ast.Tuple,
            ast.Set,
            ast.Dict,
            ast.JoinedStr,
            ast.FormattedValue,
            ast.Slice,
            ast.Starred,
        ),
        # operators and expressions: what they call are methods of the operands
        *(
            ast.UnaryOp,
            ast.BinOp,
            ast.BoolOp,
            ast.Compare,
            ast.IfExp,
            ast.Subscript,
            ast.Call,
            ast.Await,
        ),
        *(ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Lambda, ast.arguments),
        # comprehensions are loops
        *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.comprehension),
        # statements that only bind, branch or loop; the names they bind are checked where they stand
        *(
            ast.Expr,
            ast.AugAssign,
            ast.Delete,
            ast.Raise,
            ast.Assert,
            ast.Return,
            ast.Expression,
        ),
        *(
            ast.If,
            ast.For,
            ast.AsyncFor,
            ast.While,
            ast.With,
            ast.AsyncWith,
            ast.withitem,
            ast.TryStar,
        ),
        # patterns whose names and attributes are checked in the parts
        *(ast.Match, ast.match_case, ast.MatchSequence, ast.MatchOr),
        # type aliases of Python 3.12 bind a name, checked in the part
        *filter(None, [getattr(ast, "TypeAlias", None)]),
    }
)

# Nothing inside to look at.
LEAVES: frozenset[type[ast.AST]] = frozenset(
    {ast.Constant, ast.Pass, ast.Break, ast.Continue, ast.MatchSingleton}
    | set(ast.expr_context.__subclasses__())
    | set(ast.operator.__subclasses__())
    | set(ast.unaryop.__subclasses__())
    | set(ast.boolop.__subclasses__())
    | set(ast.cmpop.__subclasses__())
)
