"""The loop: forward and aforward follow the same rules, turn by turn."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import dspy
import pytest
from dspy.utils.exceptions import LMError

from dspy_rlm import RLM, NoAnswerError, UsageError
from dspy_rlm.retyping import without_retyped
from dspy_rlm.testing import ScriptedLM

LOG = "10.0.0.1 ok\n10.0.0.2 fail\n10.0.0.1 ok\n" * 100
FENCE = "```python\n{}\n```".format
SCRIPTS: dict[str, list[Any]] = {
    "submits at once": [FENCE("SUBMIT(ip='10.0.0.1', count=200)")],
    "looks, then submits": [FENCE("print(log[:30])"), FENCE("SUBMIT('10.0.0.1', 200)")],
    "is refused, then corrects": [FENCE("SUBMIT(ip='x', count='many')"), FENCE("SUBMIT({'ip': 'x', 'count': 1})")],
    "fails, then goes on": [FENCE("1 / 0"), FENCE("import os"), FENCE("def f(:"), FENCE("SUBMIT('x', 1)")],
    "sends no cell": ["I think it is 10.0.0.1.", "", FENCE(""), FENCE("SUBMIT('x', 1)")],
    "asks a sub-LM": [FENCE("a = llm_query('Which?')\nprint(a)"), "[[ ## response ## ]]\nThat.", FENCE("SUBMIT(a, 1)")],
    "repeats a cell": [FENCE("print(1)"), FENCE("print(1)"), FENCE("SUBMIT('x', 1)")],
    "runs out of turns": [FENCE("1")] * 4 + ["[[ ## ip ## ]]\nx\n[[ ## count ## ]]\n7\n[[ ## completed ## ]]"],
}


def _drive(is_async: bool, replies: list[Any]) -> tuple[dspy.Prediction, ScriptedLM]:
    rlm, lm = RLM("log, question -> ip: str, count: int", max_iters=4), ScriptedLM(replies)
    inputs = {"log": LOG, "question": "Which?"}
    with dspy.context(lm=lm):
        return (asyncio.run(rlm.acall(**inputs)) if is_async else rlm(**inputs)), lm


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS.keys())
def test_forward_and_aforward_give_equal_trajectories_and_messages(script):
    prediction, lm = _drive(False, script)
    async_prediction, async_lm = _drive(True, script)
    assert lm.left == 0
    assert lm.calls == async_lm.calls
    assert prediction.trajectory.lean() == async_prediction.trajectory.lean()
    for name in ("ip", "count", "finish_reason", "final_reasoning", "usage"):
        assert prediction[name] == async_prediction[name]


def test_the_prediction_holds_typed_outputs_and_what_was_done(run, cell):
    replies = [cell("print(len(log))", "I look."), cell("SUBMIT(ip='10.0.0.1', count='200')", "I know.")]
    prediction, _ = run(RLM("log -> ip: str, count: int"), replies, log=LOG)
    assert (prediction.ip, prediction.count) == ("10.0.0.1", 200)
    assert prediction.finish_reason == "submitted"
    assert prediction.final_reasoning == "I know."
    assert [step.code for step in prediction.trajectory] == ["print(len(log))", "SUBMIT(ip='10.0.0.1', count='200')"]
    assert prediction.trajectory[0].output.strip() == str(len(LOG))
    assert prediction.trajectory[0].error is None and prediction.trajectory[0].duration > 0
    assert prediction.trajectory[1].output == "Submitted: ip='10.0.0.1', count=200"
    assert prediction.usage == prediction.get_lm_usage()
    assert prediction.usage["scripted/lm"]["completion_tokens"] > 0


def test_a_run_out_of_turns_extracts_typed_outputs_and_says_so(run, cell):
    rlm = RLM("log -> ip: str, count: int", max_iters=1)
    extracted = "[[ ## ip ## ]]\n10.0.0.1\n\n[[ ## count ## ]]\n200\n\n[[ ## completed ## ]]"
    prediction, lm = run(rlm, [cell("print('found 10.0.0.1')"), extracted], log=LOG)
    assert (prediction.ip, prediction.count, prediction.finish_reason) == ("10.0.0.1", 200, "max_iters")
    asked = lm.calls[-1][-1]["content"]
    assert "print('found 10.0.0.1')" in asked and "log: str" in asked


def test_no_answer_at_all_raises_with_the_trajectory(run, cell):
    replies = [cell("print(1)"), "no idea", "no idea"]
    with pytest.raises(NoAnswerError, match="1 turns without an accepted SUBMIT") as caught:
        run(RLM("log -> count: int", max_iters=1), replies, log=LOG)
    assert [step.code for step in caught.value.trajectory] == ["print(1)"]


def test_a_failing_lm_raises_with_the_trajectory(run, cell):
    with pytest.raises(LMError, match="down") as caught:
        run(RLM("log -> count: int"), [cell("print(1)"), ConnectionError("down")], log=LOG)
    assert [step.code for step in caught.value.trajectory] == ["print(1)"]


def test_a_full_context_extracts_from_what_was_done(run, cell):
    full = dspy.ContextWindowExceededError(model="scripted/lm", message="too long")
    extracted = "[[ ## count ## ]]\n3\n[[ ## completed ## ]]"
    prediction, _ = run(RLM("log -> count: int"), [cell("print(3)"), full, extracted], log=LOG)
    assert (prediction.count, prediction.finish_reason) == (3, "context_window")


def test_a_context_too_small_for_the_first_turn_raises(run):
    full = dspy.ContextWindowExceededError(model="scripted/lm", message="too long")
    with pytest.raises(dspy.ContextWindowExceededError):
        run(RLM("log -> count: int"), [full], log=LOG)


def test_extract_gets_shortened_outputs_when_the_whole_does_not_fit(run, cell):
    full = dspy.ContextWindowExceededError(model="scripted/lm", message="too long")
    extracted = "[[ ## count ## ]]\n3\n[[ ## completed ## ]]"
    rlm = RLM("log -> count: int", max_iters=1)
    prediction, lm = run(rlm, [cell("print('a' * 5000)"), full, extracted], log=LOG)
    assert prediction.count == 3
    assert "a" * 5000 in lm.calls[1][-1]["content"]
    assert "a" * 5000 not in lm.calls[2][-1]["content"] and "print('a' * 5000)" in lm.calls[2][-1]["content"]


def test_a_repeated_cell_with_the_same_result_is_pointed_out(run, cell):
    prediction, _ = run(RLM("n -> m: int"), [cell("n + 1"), cell("n + 1"), cell("SUBMIT(n + 1)")], n=1)
    assert "same cell before" not in prediction.trajectory[0].output
    assert "same cell before" in prediction.trajectory[1].output


def test_after_a_repetition_the_next_reply_is_sampled(run, cell):
    replies = [cell("print(1)"), cell("print(1)"), cell("print(2)"), cell("SUBMIT('x')")]
    _, lm = run(RLM("a -> b"), replies, a="x")
    assert [entry["kwargs"].get("temperature") for entry in lm.history] == [None, None, 1.0, None]


def test_a_cell_repeated_once_more_is_told_the_variables_again(run, cell):
    replies = [*[cell("m + 1")] * 3, cell("SUBMIT(n + 1)")]
    prediction, lm = run(RLM("n -> m: int"), replies, n=1)
    variables = lm.calls[0][-1]["content"].split("Turn 1 of")[0].strip()
    outputs = [step.output for step in prediction.trajectory]
    assert ["same cell before" in output for output in outputs] == [False, True, True, False]
    assert [output.count("SUBMIT(m=...)") for output in outputs[:3]] == [0, 0, 1]
    assert outputs[2].split("what there is:")[1].strip() in variables


def test_after_an_error_a_corrected_cell_is_asked_for_instead_of_a_submission(run, cell):
    _, lm = run(RLM("n -> m: int"), [cell("m + 1"), cell("n + 1"), cell("SUBMIT(n + 1)")], n=1)
    after_error, after_output = (lm.calls[call][-1]["content"] for call in (1, 2))
    assert "send a corrected cell" in after_error and "SUBMIT(" not in after_error
    assert "SUBMIT(m=...)" in after_output


def test_dots_in_place_of_a_value_are_pointed_out(run, cell):
    prediction, _ = run(RLM("n -> m: int"), [cell("SUBMIT(m=...)"), cell("SUBMIT(n)")], n=1)
    assert "put the value that you found in its place" in prediction.trajectory[0].output


def test_a_repeated_cell_with_another_result_is_not_pointed_out(run, cell):
    ticks = itertools.count()

    def tick() -> int:
        """Count up."""
        return next(ticks)

    prediction, _ = run(RLM("n -> m: int", tools=[tick]), [cell("tick()"), cell("tick()"), cell("SUBMIT(1)")], n=1)
    assert "same cell before" not in prediction.trajectory[1].output


def test_variables_stay_from_cell_to_cell_and_not_from_run_to_run(cell):
    rlm = RLM("n -> m: int")
    for _ in range(2):
        with dspy.context(lm=ScriptedLM([cell("print('x' in dir())\nx = 1"), cell("SUBMIT(x)")])):
            prediction = rlm(n=1)
        assert prediction.trajectory[0].output.strip() == "False"
        assert prediction.m == 1


@pytest.mark.parametrize(
    ("inputs", "part"),
    [
        ({}, "missing inputs ['log', 'question']"),
        ({"log": "x"}, "missing inputs ['question']"),
        ({"log": "x", "question": "y", "other": 1}, "unexpected inputs ['other']"),
    ],
)
def test_wrong_inputs_are_refused_before_any_lm_call(run, inputs, part):
    with pytest.raises(UsageError) as caught:
        run(RLM("log, question -> ip"), [], **inputs)
    assert part in str(caught.value)


def test_an_input_with_a_default_may_be_left_out(run, cell):
    class Task(dspy.Signature):
        """Count."""

        text: str = dspy.InputField()
        unit: str = dspy.InputField(default="lines")
        count: int = dspy.OutputField()

    prediction, _ = run(RLM(Task), [cell("SUBMIT(len(unit))")], text="x")
    assert prediction.count == 5


@pytest.mark.parametrize(
    ("name", "value"), [("max_iters", 0), ("max_llm_calls", -1), ("max_output_chars", 0), ("max_iters", "3")]
)
def test_limits_that_cannot_work_are_refused_in_the_constructor(name, value):
    with pytest.raises(UsageError, match=name):
        RLM("a -> b", **{name: value})


def test_a_cancelled_run_ends_its_cell_and_its_session():
    async def cancel() -> None:
        started = asyncio.Event()
        loop = asyncio.get_running_loop()

        def tell() -> None:
            """Tell that the cell runs."""
            loop.call_soon_threadsafe(started.set)

        rlm = RLM("n -> m: int", tools=[tell])
        with dspy.context(lm=ScriptedLM([FENCE("tell()\nwhile True: pass")])):
            task = asyncio.ensure_future(rlm.acall(n=1))
            await started.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(asyncio.wait_for(cancel(), 30))


def test_a_line_that_types_data_over_an_input_is_left_out(run, cell):
    typed = "log = '''" + LOG[:200] + "'''\nprint('ran', len(log))"
    prediction, _ = run(RLM("log -> n: int"), [cell(typed), cell("log = log + ''\nSUBMIT(len(log))")], log=LOG)
    first = prediction.trajectory[0]
    assert prediction.n == len(LOG)
    assert first.output.startswith("Line 1 was left out: it writes over `log`, which is set already")
    assert first.output.endswith(f"\nran {len(LOG)}")
    assert first.error is None and LOG[:200] not in first.code


def test_a_definition_of_a_host_function_is_left_out_and_the_real_one_called(run, cell):
    code = "from functools import cache\n@cache\ndef shout(text):\n    return 'mine'\nSUBMIT(shout(rows[0]))"

    def shout(text: str) -> str:
        """Shout."""
        return text.upper()

    prediction, _ = run(RLM("rows: list[str] -> n", tools=[shout]), [cell(code)], rows=["a"])
    step = prediction.trajectory[0]
    assert prediction.n == "A"
    assert step.code == "from functools import cache\npass\n\n\nSUBMIT(shout(rows[0]))"


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        (f"log = {['a' * 30] * 3!r}", False),
        (f"log = {dict.fromkeys(range(40), 1)!r}", False),
        (f"log = {('a' * 100)!r}", False),
        ("log = ['a', 'b']", True),
        (f"log = [line for line in {'a' * 100!r}]", True),
        (f"log = [log, {'a' * 100!r}]", True),
        (f"other = {['a' * 30] * 3!r}", True),
        ("def helper(): return 1", True),
        ("class A:\n    def ask(self): return 1", True),
    ],
)
def test_only_long_data_over_an_input_is_left_out(line, kept):
    assert (without_retyped(line, ["log"], ["ask"])[0] == line) == kept


def test_lines_left_out_keep_the_numbers_of_the_others():
    data = "x" * 100
    code = f"if log:\n    log = 'ä{data}'; a = 1; log = '''\n{data}'''; b = 2\nprint(a)"
    kept, retyped = without_retyped(code, ["log"])
    assert kept == "if log:\n    pass; a = 1; pass; b = 2\n\nprint(a)"
    assert [(statement.name, statement.line) for statement in retyped] == [("log", 2), ("log", 2)]
