"""Runs cells through the inner wall, and the same text through plain CPython."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any

import pytest

from dspy_rlm.sandbox.cells import Namespace, compile_cell, run_cell
from dspy_rlm.sandbox.outcomes import Failed, Ran, Refused


class Session:
    """A namespace with a counter of cells."""

    def __init__(self, **options: Any) -> None:
        self.namespace = Namespace(**options)
        self.cells = 0

    def run(self, source: str) -> Ran | Failed | Refused:
        """Compile and run one cell."""
        self.cells += 1
        compiled = compile_cell(source, self.cells, self.namespace)
        return compiled if isinstance(compiled, Refused) else run_cell(compiled, self.namespace)

    def printed(self, source: str) -> str:
        """Run a cell that must end, and give what it printed."""
        outcome = self.run(source)
        assert isinstance(outcome, Ran), outcome
        return outcome.output.head


@pytest.fixture
def session() -> Session:
    """Give a fresh session."""
    return Session()


@pytest.fixture
def plain() -> Callable[[str], str]:
    """Give what plain CPython prints for a cell."""

    def run(source: str) -> str:
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            exec(source, {"__name__": "__main__"})
        return text.getvalue()

    return run
