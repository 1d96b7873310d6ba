"""What the tests of the outer wall share: a session, and what a cell showed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dspy_rlm.sandbox.interpreter import RestrictedInterpreter
from dspy_rlm.sandbox.outcomes import Ran


@pytest.fixture
def session() -> Iterator[RestrictedInterpreter]:
    with RestrictedInterpreter() as interpreter:
        yield interpreter


@pytest.fixture
def shown() -> Any:
    """The repr of a cell's trailing value."""

    def run(session: RestrictedInterpreter, code: str) -> str:
        outcome = session.run_cell(code)
        assert isinstance(outcome, Ran) and outcome.value is not None, outcome
        return outcome.value.head

    return run


@pytest.fixture
def processes() -> Callable[[int], dict[int, int]]:
    """The zygote's and its sessions' processes, with the parent of each: all in the system session that it leads."""

    def find(zygote: int) -> dict[int, int]:
        found = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    state, parent, _, leader = (entry / "stat").read_bytes().rpartition(b")")[2].split()[:4]
                except (FileNotFoundError, ProcessLookupError):
                    continue
                if int(leader) == zygote and state != b"Z":
                    found[int(entry.name)] = int(parent)
        return found

    return find
