"""Tools: plain host functions in the sandbox."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import dspy
import pytest

from dspy_rlm import RLM, UsageError
from dspy_rlm.testing import ScriptedLM

FENCE = "```python\n{}\n```".format


def add(x: int, y: int = 10) -> int:
    """Add two numbers."""
    return x + y


async def add_later(x: int, y: int = 10) -> int:
    """Add two numbers, taking its time."""
    await asyncio.sleep(0)
    return x + y


class Adder:
    """A callable object."""

    def __call__(self, x: int, y: int = 10) -> int:
        """Add two numbers as an object."""
        return x + y


class LaterAdder:
    """An async callable object."""

    async def __call__(self, x: int, y: int = 10) -> int:
        """Add two numbers as an object, taking its time."""
        return x + y


TOOLS: dict[str, Any] = {
    "function": add,
    "async function": add_later,
    "dspy.Tool": dspy.Tool(add, name="add"),
    "async dspy.Tool": dspy.Tool(add_later, name="add"),
    "object": dspy.Tool(Adder(), name="add"),
    "async object": dspy.Tool(LaterAdder(), name="add"),
    "lambda": dspy.Tool(lambda x, y=10: x + y, name="add", desc="Add."),
}


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS.keys())
@pytest.mark.parametrize("arguments", ["1", "1, 10", "x=1", "1, y=10", "y=10, x=1"])
def test_tools_are_called_by_position_and_by_name(run, cell, tool, arguments):
    name = "add_later" if tool is add_later else "add"
    prediction, _ = run(RLM("a -> b: int", tools=[tool]), [cell(f"SUBMIT({name}({arguments}))")], a="x")
    assert prediction.b == 11


def test_variadic_and_positional_only_parameters_work(run, cell):
    def total(first: int, /, *rest: int, **named: int) -> int:
        """Add them all."""
        return first + sum(rest) + sum(named.values())

    prediction, _ = run(RLM("a -> b: int", tools=[total]), [cell("SUBMIT(total(1, 2, 3, z=4))")], a="x")
    assert prediction.b == 10


def test_containers_come_back_as_containers(run, cell):
    def table() -> dict[str, list[tuple[int, None]]]:
        """A table."""
        return {"rows": [(1, None)]}

    code = "t = table()\nSUBMIT(f\"{t['rows'][0]} {type(t).__name__}\")"
    prediction, _ = run(RLM("a -> b", tools=[table]), [cell(code)], a="x")
    assert prediction.b == "(1, None) dict"


def test_a_tools_exception_is_an_error_in_the_cell(run, cell):
    def broken() -> None:
        """Fail."""
        raise FileNotFoundError("no such ticket")

    replies = [cell("broken()"), cell("SUBMIT('x')")]
    prediction, _ = run(RLM("a -> b", tools=[broken]), replies, a="x")
    assert prediction.trajectory[0].error == "FileNotFoundError: no such ticket"


def test_an_exception_that_cannot_tell_its_text_is_an_error_in_the_cell_too(run, cell):
    class SilentError(ValueError):
        def __str__(self):
            raise RuntimeError("no text")

    def broken() -> None:
        """Fail."""
        raise SilentError

    replies = [cell("broken()"), cell("SUBMIT('x')")]
    prediction, _ = run(RLM("a -> b", tools=[broken]), replies, a="x")
    assert "its text cannot be told: RuntimeError" in prediction.trajectory[0].error


def test_the_root_lm_is_told_signature_and_docstring(run, cell):
    _, lm = run(RLM("a -> b", tools=[add, add_later]), [cell("SUBMIT('x')")], a="x")
    told = lm.calls[0][-1]["content"]
    assert "- add(x: int, y: int = 10) -> int: Add two numbers." in told
    assert "- add_later(x: int, y: int = 10) -> int: Add two numbers, taking its time." in told


def test_async_tools_run_on_the_callers_event_loop():
    seen: list[Any] = []

    async def which_loop() -> int:
        """Tell."""
        seen.append(asyncio.get_running_loop())
        return 1

    async def main() -> None:
        with dspy.context(lm=ScriptedLM([FENCE("SUBMIT(which_loop())")])):
            await RLM("a -> b: int", tools=[which_loop]).acall(a="x")
        assert seen == [asyncio.get_running_loop()]

    asyncio.run(main())


def test_a_cancelled_run_cancels_its_async_tool_and_leaves_no_thread():
    async def main() -> None:
        started, cancelled = asyncio.Event(), asyncio.Event()

        async def wait() -> None:
            """Wait."""
            started.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.set()
                raise

        with dspy.context(lm=ScriptedLM([FENCE("wait()")])):
            task = asyncio.ensure_future(RLM("a -> b: int", tools=[wait]).acall(a="x"))
            await started.wait()
            (thread,) = (thread for thread in threading.enumerate() if thread.name.startswith("rlm-session"))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await cancelled.wait()
            await asyncio.to_thread(thread.join)

    asyncio.run(asyncio.wait_for(main(), 30))


def test_forward_inside_a_running_event_loop_can_use_async_tools():
    async def main() -> int:
        with dspy.context(lm=ScriptedLM([FENCE("SUBMIT(add_later(1))")])):
            return RLM("a -> b: int", tools=[add_later])(a="x").b  # as in a notebook

    assert asyncio.run(main()) == 11


def test_sync_tools_run_on_the_thread_that_called_the_program(cell):
    threads: list[threading.Thread] = []

    def where() -> int:
        """Tell."""
        threads.append(threading.current_thread())
        return 1

    with dspy.context(lm=ScriptedLM([cell("SUBMIT(where())")])):
        RLM("a -> b: int", tools=[where])(a="x")
    assert threads == [threading.current_thread()]


@pytest.mark.parametrize(
    ("tools", "part"),
    [
        ([1], "the tool 1 is not callable"),
        ([add, dspy.Tool(add_later, name="add")], "two tools are named 'add'"),
        (add, "tools=[function]"),
        ({"add": add}, "tools=[function]"),
    ],
)
def test_tools_that_cannot_work_are_refused(tools, part):
    with pytest.raises(UsageError) as caught:
        RLM("a -> b", tools=tools)
    assert part in str(caught.value)
