"""Calls from a cell to the host, and what comes back."""

from __future__ import annotations

import asyncio
import contextvars
import dataclasses
import datetime
import re
import threading
from decimal import Decimal

import pytest
from pydantic import BaseModel

from dspy_rlm import BudgetExceededError
from dspy_rlm.sandbox.outcomes import Failed
from dspy_rlm.sandbox.values import Record, SubCallFailure

variable = contextvars.ContextVar("variable", default="unset")


class Ticket(BaseModel):
    label: str
    parts: list[Ticket] = []


@dataclasses.dataclass
class Point:
    x: int


def test_arguments_go_by_position_and_name_and_come_back(session, shown):
    session.bind({"echo": lambda *args, **kwargs: [args, kwargs]})
    assert shown(session, "echo(1, 'a', k=(2, {3}))") == "[(1, 'a'), {'k': (2, {3})}]"


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (Record({"label": "bug", "items": 2}), "(v().label, v()['label'], v().items)"),
        (Ticket(label="bug", parts=[Ticket(label="bug")]), "(v().label, v().parts[0].label, 2 and 'bug')"),
        (Point(3), "('bug', 'bug', v().x)"),
    ],
)
def test_objects_of_the_host_arrive_as_records(session, value, code):
    session.bind({"v": lambda: value})
    assert session.run_cell(code).value.head.startswith("('bug', 'bug', ")


def test_a_failed_place_of_a_batch_is_a_text_with_the_error(session, shown):
    session.bind({"v": lambda: ["fine", SubCallFailure("[failed] TimeoutError: late")]})
    assert shown(session, "[getattr(item, 'error', None) for item in v()]") == "[None, 'TimeoutError: late']"
    assert session.run_cell("print(v()[1])").output.head == "[failed] TimeoutError: late\n"


@pytest.mark.parametrize(
    ("error", "caught", "told"),
    [
        (KeyError("no"), "KeyError", "KeyError: 'no'"),
        (ValueError("bad"), "ValueError", "ValueError: bad"),
        (BudgetExceededError("llm_calls", 5, 1, 5), "RuntimeError", "BudgetExceededError: sub-LM call limit"),
        (UnicodeDecodeError("utf-8", b"x", 0, 1, "why"), "RuntimeError", "RuntimeError: UnicodeDecodeError: 'utf-8'"),
    ],
)
def test_an_error_of_the_host_rises_in_the_cell_under_its_name(session, shown, error, caught, told):
    def fail():
        raise error

    session.bind({"fail": fail})
    outcome = session.run_cell("fail()")
    assert isinstance(outcome, Failed) and f"{outcome.error.kind}: {outcome.error.message}".startswith(told)
    assert outcome.error.text == "fail()"
    assert shown(session, f"try:\n    fail()\nexcept {caught}:\n    x = 'caught'\nx") == "'caught'"


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("echo(x for x in [1])", r"generator .*list\(\.\.\.\)"),
        ("class A: pass\necho(A())", "class A .*dataclass"),
        ("echo(len)", "call it"),
        ("a = []\na.append(a)\necho(a)", "holds itself"),
    ],
)
def test_what_cannot_leave_the_sandbox_is_told_at_its_line(session, code, advice):
    session.bind({"echo": lambda value: value})
    outcome = session.run_cell(code)
    assert isinstance(outcome, Failed) and outcome.error.kind == "TypeError"
    assert outcome.error.line == code.count("\n") + 1
    assert re.search(advice, outcome.error.message)


def test_a_result_that_cannot_enter_is_told_in_the_cell(session):
    session.bind({"v": lambda: [threading.Lock()]})
    outcome = session.run_cell("v()")
    assert isinstance(outcome, Failed) and outcome.error.message.startswith(
        "the result of v cannot be handed over: lock"
    )


def test_calls_of_the_cell_itself_run_on_the_callers_thread_and_context(session, shown):
    session.bind({"where": lambda: [threading.get_ident(), variable.get()]})
    variable.set("set")
    assert shown(session, "where()") == repr([threading.get_ident(), "set"])


def test_an_async_function_is_awaited_also_inside_a_running_event_loop(session, shown):
    async def later(value):
        await asyncio.sleep(0)
        return [value]

    async def in_a_loop():
        return shown(session, "later(2)")

    session.tools["later"] = later
    session.bind({"later": later})
    assert shown(session, "later(1)") == "[1]"
    assert asyncio.run(in_a_loop()) == "[2]"


def test_calls_from_threads_of_a_cell_are_concurrent_and_keep_the_context(session, shown):
    barrier = threading.Barrier(4, timeout=10)
    session.bind({"meet": lambda n: (barrier.wait(), n, variable.get())[1:]})
    variable.set("here")
    code = "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(4) as pool:\n    r = list(pool.map(meet, range(4)))\nr"
    assert shown(session, code) == repr([(n, "here") for n in range(4)])


def test_calls_through_asyncio_are_concurrent(session, shown):
    barrier = threading.Barrier(2, timeout=10)
    session.bind({"meet": lambda n: (barrier.wait(), n)[1]})
    code = "import asyncio\nawait asyncio.gather(*[asyncio.to_thread(meet, n) for n in (1, 2)])"
    assert shown(session, code) == "[1, 2]"


def test_a_function_that_a_cell_overwrote_is_back_in_the_next(session, shown):
    session.bind({"f": lambda: 1})
    session.run_cell("f = None\nSUBMIT = print = None")
    assert shown(session, "f()") == "1"


def test_inputs_arrive_as_plain_data(session, shown):
    day = datetime.date(2025, 1, 31)
    session.bind({"t": Ticket(label="bug", parts=[Ticket(label="x")]), "p": [Point(1)], "d": {day: Decimal("1.50")}})
    assert shown(session, "t, p, d") == repr(
        ({"label": "bug", "parts": [{"label": "x", "parts": []}]}, [{"x": 1}], {day: Decimal("1.50")})
    )


def test_an_input_that_cannot_enter_names_itself(session, shown):
    with pytest.raises(TypeError, match="thing: .*cannot go into the sandbox"):
        session.bind({"thing": [print]})
    assert shown(session, "1") == "1"
