"""What the tests of the module share: a cell as the root LM sends it, and one program run both ways."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from typing import Any

import dspy
import pytest

from dspy_rlm.testing import ScriptedLM

Runner = Callable[..., tuple[Any, ScriptedLM]]


def pytest_configure() -> None:
    """Take Ctrl-C, also as a shell's background job, which ignores it: some tests send it to themselves."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def cell() -> Callable[..., str]:
    """A reply of the root LM with one cell in it."""

    def reply(code: str, reasoning: str = "Next.") -> str:
        return f"{reasoning}\n```python\n{code}\n```"

    return reply


def _forward(program: dspy.Module, inputs: dict[str, Any]) -> Any:
    return program(**inputs)


def _aforward(program: dspy.Module, inputs: dict[str, Any]) -> Any:
    return asyncio.run(program.acall(**inputs))


@pytest.fixture(params=[_forward, _aforward], ids=["forward", "aforward"])
def run(request: pytest.FixtureRequest) -> Runner:
    """Runs a program with a scripted LM, synchronously and asynchronously; every reply must be used."""

    def runner(program: dspy.Module, replies: Sequence[Any], /, **inputs: Any) -> tuple[Any, ScriptedLM]:
        lm = ScriptedLM(replies)
        with dspy.context(lm=lm):
            result = request.param(program, inputs)
        assert lm.left == 0
        return result, lm

    return runner
