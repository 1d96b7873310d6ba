"""What a run may spend, checked before it is spent."""

from __future__ import annotations

import threading

from dspy_rlm.errors import BudgetExceededError


class Budget:
    """The caps of one run and what was used of them; any thread may spend.

    Args:
        max_iters: Turns of the root LM.
        max_llm_calls: Calls of sub-modules.

    Example:
        >>> budget = Budget(max_iters=20, max_llm_calls=3)
        >>> budget.reserve_llm_calls(2)
        >>> budget.llm_calls_left
        1
    """

    def __init__(self, max_iters: int, max_llm_calls: int) -> None:
        self.max_iters = max_iters
        self.max_llm_calls = max_llm_calls
        self.closed = False
        self._llm_calls = 0
        self._lock = threading.Lock()

    @property
    def llm_calls(self) -> int:
        """Sub-module calls made so far."""
        return self._llm_calls

    @property
    def llm_calls_left(self) -> int:
        """Sub-module calls that may still be made."""
        return self.max_llm_calls - self._llm_calls

    def reserve_llm_calls(self, count: int) -> None:
        """Take `count` calls, all or none.

        Raises:
            BudgetExceededError: fewer than `count` are left; none is taken.
        """
        with self._lock:
            if self._llm_calls + count > self.max_llm_calls:
                raise BudgetExceededError("llm_calls", self._llm_calls, count, self.max_llm_calls)
            self._llm_calls += count

    def close(self) -> None:
        """The run is over: what was reserved and has not begun must not be spent."""
        self.closed = True
