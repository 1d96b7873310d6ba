"""Deep copies of programs whose parts cannot all be copied."""

from __future__ import annotations

import copy
from typing import Any

import dspy


def copied_attribute(value: Any, memo: dict[int, Any]) -> Any:
    """A deep copy of what an RLM holds, or what cannot be copied itself: a tool's connection, an LM in this process.

    Args:
        value: An attribute of the program.
        memo: The copies made so far, as in `copy.deepcopy`.

    Example:
        >>> lock = __import__("threading").Lock()
        >>> copied_attribute(lock, {}) is lock
        True
    """
    try:
        return copy.deepcopy(value, memo)
    except Exception:  # any object may refuse to be copied, in its own way
        if isinstance(value, dspy.Module):
            return value.deepcopy()  # DSPy goes through its attributes in turn
        if isinstance(value, dict):
            return {name: copied_attribute(item, memo) for name, item in value.items()}
        return value
