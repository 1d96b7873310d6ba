"""Every exception `dspy_rlm` raises, branched by whose doing it was.

`UsageError` is the caller's, `NoAnswerError` the run's, `BudgetExceededError` and `SubmissionRefusedError`
are shown to the model inside its cell, `SandboxError` the host's, `LocalModelError` the local LM's.
This module imports nothing of ours, so that anything may import it.
"""

from __future__ import annotations

from typing import Any

from dspy.primitives.code_interpreter import CodeExecutionError, CodeInterpreterError


class RLMError(Exception):
    """Root of every error of this package."""


class UsageError(RLMError, ValueError):
    """The caller passed something that cannot work; raised before any LM call is paid for."""


class NoAnswerError(RLMError):
    """The run ended and no answer could be formed.

    Attributes:
        trajectory: `Trajectory` of every step taken, for inspection.
    """

    def __init__(self, message: str, trajectory: Any) -> None:
        super().__init__(message)
        self.trajectory = trajectory

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.trajectory)


class BudgetExceededError(RLMError, RuntimeError):
    """A cap was reached; inside the sandbox the model sees it as the error of its call.

    Attributes:
        kind: What ran out, for example `"llm_calls"`.
        used: How much was spent before this request.
        requested: How much this request wanted.
        limit: The cap.
    """

    def __init__(self, kind: str, used: int, requested: int, limit: int) -> None:
        super().__init__(
            f"sub-LM call limit exceeded: {used} used + {requested} requested > {limit}. "
            "Finish with plain Python over what you have, and SUBMIT."
        )
        self.kind, self.used, self.requested, self.limit = kind, used, requested, limit

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.kind, self.used, self.requested, self.limit)


class SubmissionRefusedError(RLMError, ValueError):
    """`SUBMIT` was called with values that do not fit the outputs; the model should correct and submit again."""


class SandboxError(RLMError, CodeInterpreterError):
    """The sandbox itself failed, which the submitted code cannot repair; the session is over."""


class SandboxUnavailableError(SandboxError):
    """The sandbox cannot be started on this system."""


class CellFailedError(RLMError, CodeExecutionError):
    """A cell was refused, raised, or was rolled back; the session is healthy and keeps its variables."""


class LocalModelError(RLMError):
    """The local language model cannot be loaded or used."""
