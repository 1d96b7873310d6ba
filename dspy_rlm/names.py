"""Which names inputs, outputs, tools and sub-modules may have, checked when an RLM is made."""

from __future__ import annotations

import keyword
from collections.abc import Iterable

import dspy

from dspy_rlm.errors import UsageError

SCAFFOLDING = frozenset({"SUBMIT", "FINAL", "FINAL_VAR", "print"})
RESULT_NAMES = frozenset({"trajectory", "final_reasoning", "finish_reason", "usage"})
_CALL_NAMES = frozenset({"interpreter_factory", "self"})


def batched_name(name: str) -> str:
    """The name of a sub-module's batched form in the sandbox."""
    return f"{name}_batched"


def check_names(
    signature: type[dspy.Signature], tools: Iterable[str], subs: Iterable[str], attributes: frozenset[str]
) -> None:
    """Refuse names that clash in the sandbox, in a prediction, or among the attributes of an RLM.

    Args:
        signature: The task's signature.
        tools: Names of the tools.
        subs: Names of the sub-modules.
        attributes: Names that an RLM has itself, which no sub-module may replace.

    Raises:
        UsageError: a name clashes; it says which and what to rename.
    """
    owners = dict.fromkeys(SCAFFOLDING, "the sandbox's own function")
    subs = list(subs)
    for kind, names in (("sub-module", subs), ("tool", list(tools)), ("input", list(signature.input_fields))):
        for name in names:
            _check_identifier(kind, name)
            for taken in (name, batched_name(name)) if kind == "sub-module" else (name,):
                if taken in owners:
                    raise UsageError(f"the {kind} {name!r} clashes with {owners[taken]} {taken!r}: rename the {kind}")
                owners[taken] = f"the {kind}" if taken == name else f"the batched form of the sub-module {name!r},"
    _check_attributes(subs, attributes)
    for name in signature.input_fields:
        if name in _CALL_NAMES:
            raise UsageError(f"the input {name!r} clashes with the RLM's call argument of that name: rename the input")
    for name in signature.output_fields:
        _check_identifier("output", name)
        if name in SCAFFOLDING:
            raise UsageError(f"the output {name!r} clashes with the sandbox's own function: rename the output")
        if name in RESULT_NAMES:
            raise UsageError(f"the output {name!r} clashes with what every prediction of an RLM has: rename the output")


def _check_identifier(kind: str, name: str) -> None:
    if not isinstance(name, str):
        raise UsageError(f"the {kind} name {name!r} is of type {type(name).__name__}, not str")
    if not name.isidentifier() or keyword.iskeyword(name):
        raise UsageError(f"the {kind} name {name!r} is not a Python name that can be used in a cell: rename the {kind}")
    if name.startswith("__"):
        raise UsageError(f"the {kind} name {name!r} begins with two underscores, which cells cannot use: rename it")


def _check_attributes(subs: Iterable[str], attributes: frozenset[str]) -> None:
    for name in subs:
        if name in attributes:
            raise UsageError(
                f"the sub-module {name!r} clashes with the RLM's own attribute {name!r}: rename the sub-module"
            )
