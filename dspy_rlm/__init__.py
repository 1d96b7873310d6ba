"""Recursive Language Models as a DSPy module: typed answers over inputs far larger than a context window.

The names below are all that is public. They load when first used, because the worker process of the sandbox imports
`dspy_rlm.sandbox` and must not pay for DSPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dspy_rlm._version import __version__

if TYPE_CHECKING:
    from dspy_rlm import testing
    from dspy_rlm.errors import (
        BudgetExceededError,
        CellFailedError,
        LocalModelError,
        NoAnswerError,
        RLMError,
        SandboxError,
        SandboxUnavailableError,
        SubmissionRefusedError,
        UsageError,
    )
    from dspy_rlm.rlm import RLM
    from dspy_rlm.sandbox.interpreter import RestrictedInterpreter
    from dspy_rlm.trajectory import Step, Trajectory

_ERRORS = (
    "BudgetExceededError",
    "CellFailedError",
    "LocalModelError",
    "NoAnswerError",
    "RLMError",
    "SandboxError",
    "SandboxUnavailableError",
    "SubmissionRefusedError",
    "UsageError",
)
_HOMES = {
    "RLM": "dspy_rlm.rlm",
    "RestrictedInterpreter": "dspy_rlm.sandbox.interpreter",
    "Step": "dspy_rlm.trajectory",
    "Trajectory": "dspy_rlm.trajectory",
    **dict.fromkeys(_ERRORS, "dspy_rlm.errors"),
}

__all__ = [
    "RLM",
    "BudgetExceededError",
    "CellFailedError",
    "LocalModelError",
    "NoAnswerError",
    "RLMError",
    "RestrictedInterpreter",
    "SandboxError",
    "SandboxUnavailableError",
    "Step",
    "SubmissionRefusedError",
    "Trajectory",
    "UsageError",
    "__version__",
    "testing",
]


def __getattr__(name: str) -> Any:
    if name == "testing":
        return import_module("dspy_rlm.testing")
    if name not in _HOMES:
        raise AttributeError(f"module 'dspy_rlm' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
