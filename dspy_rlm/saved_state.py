"""Whether a saved state belongs to the program that is to take it over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dspy

from dspy_rlm.errors import UsageError

_TASK, _METADATA = "task", "metadata"  # what a state holds beside the states of predictors


def task_names(signature: type[dspy.Signature]) -> dict[str, list[str]]:
    """The names of a task's inputs and outputs, to be saved with the program that was tuned for it.

    Args:
        signature: The task's signature.

    Example:
        >>> task_names(dspy.Signature("log -> ip, requests: int"))
        {'inputs': ['log'], 'outputs': ['ip', 'requests']}
    """
    return {"inputs": list(signature.input_fields), "outputs": list(signature.output_fields)}


def check_state(state: Mapping[str, Any], signature: type[dspy.Signature], predictors: Sequence[str]) -> None:
    """Refuse a state that was saved from another program.

    Args:
        state: What `RLM.dump_state` gave.
        signature: The task of the program that is to take it over.
        predictors: Names of its predictors.

    Raises:
        UsageError: The state lacks a predictor, has one more, or was tuned for a task of other inputs or outputs.
    """
    held = [name for name in state if name not in (_TASK, _METADATA)]
    if set(held) != set(predictors):
        raise UsageError(
            f"the saved state is of a program with the predictors {', '.join(held)}, this one has "
            f"{', '.join(predictors)}: make the RLM with the sub-modules that it had when it was saved"
        )
    task = state.get(_TASK)  # missing where the RLM was saved as a part of a larger program
    if task is not None and task != task_names(signature):
        raise UsageError(
            f"the saved state was tuned for a task with the {_told(task)}, this program's has the "
            f"{_told(task_names(signature))}: make the RLM with the signature that it had when it was saved"
        )


def _told(task: Any) -> str:
    try:
        return f"inputs {', '.join(task['inputs'])} and the outputs {', '.join(task['outputs'])}"
    except (TypeError, KeyError):
        return f"names {task!r}"
