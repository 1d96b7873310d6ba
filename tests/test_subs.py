"""Sub-modules as functions in the sandbox."""

from __future__ import annotations

import asyncio
import signal
import threading
from typing import Any

import dspy
import pytest

from dspy_rlm import RLM, UsageError
from dspy_rlm.testing import ScriptedLM

FENCE = "```python\n{}\n```".format


def answers(**fields: Any) -> str:
    return "\n\n".join(f"[[ ## {name} ## ]]\n{value}" for name, value in fields.items()) + "\n\n[[ ## completed ## ]]"


class Shout(dspy.Module):
    """A module without a signature."""

    def forward(self, text: str, times: int = 1) -> dspy.Prediction:
        return dspy.Prediction(shouted=text.upper() * times)


def test_llm_query_is_there_by_default_and_answers_with_text(run, cell):
    prediction, lm = run(
        RLM("a -> b"), [cell("SUBMIT(llm_query('Why ' + a))"), answers(response="Because.")], a="blue?"
    )
    assert prediction.b == "Because."
    assert "Why blue?" in lm.calls[1][-1]["content"]
    (call,) = prediction.trajectory[0].sub_calls
    assert (call.name, call.inputs, call.output, call.error) == ("llm_query", {"prompt": "Why blue?"}, "Because.", None)


@pytest.mark.parametrize("adapter", [dspy.ChatAdapter(), dspy.XMLAdapter()], ids=["chat", "xml"])
def test_llm_query_takes_a_reply_of_no_format_as_its_text(cell, adapter):
    lm = ScriptedLM([cell("SUBMIT(llm_query('Why?'))"), " Because. "])
    rlm = RLM("a -> b")
    with dspy.context(lm=lm, adapter=adapter, trace=[]):
        assert rlm(a="x").b == "Because."
        assert [entry[0] for entry in dspy.settings.trace] == [rlm.llm_query, rlm.act]


def test_a_reply_that_is_not_of_the_typed_output_is_still_an_error(run, cell):
    rlm = RLM("a -> b", subs={"llm_query": dspy.Predict("prompt -> stars: int")})
    code = "try: llm_query('Why?')\nexcept Exception as error: SUBMIT(type(error).__name__)"
    prediction, _ = run(rlm, [cell(code), "Because.", "Because."], a="x")
    assert prediction.b == "AdapterParseError"


@pytest.mark.parametrize("arguments", ["'t'", "ticket='t'"])
def test_a_single_output_arrives_as_its_typed_value(run, cell, arguments):
    rlm = RLM("a -> b: int", subs={"rate": dspy.Predict("ticket -> stars: int")})
    prediction, _ = run(rlm, [cell(f"SUBMIT(rate({arguments}) + 1)"), answers(stars=4)], a="x")
    assert prediction.b == 5


def test_several_outputs_arrive_as_a_record(run, cell):
    rlm = RLM("a -> b", subs={"read": dspy.Predict("page -> title, pages: int")})
    code = "r = read(page=a)\nprint(r.title, r['pages'])\nSUBMIT(f'{r.title} {r.pages + 1}')"
    prediction, _ = run(rlm, [cell(code), answers(title="Emma", pages=3)], a="x")
    assert prediction.b == "Emma 4"
    assert "Emma 3" in prediction.trajectory[0].output


def test_a_chain_of_thought_answers_with_its_answer_alone(run, cell):
    rlm = RLM("a -> b: int", subs={"solve": dspy.ChainOfThought("problem -> answer: int")})
    prediction, _ = run(rlm, [cell("SUBMIT(solve('1 + 1'))"), answers(reasoning="Easy.", answer=2)], a="x")
    assert prediction.b == 2


def test_a_module_without_a_signature_is_called_by_its_parameters(run, cell):
    prediction, _ = run(RLM("a -> b", subs={"shout": Shout()}), [cell("SUBMIT(shout('no', times=2))")], a="x")
    assert prediction.b == "NONO"


class Answerer(dspy.Module):
    """A module whose one predictor takes more than the module is given."""

    def __init__(self):
        super().__init__()
        self.answer = dspy.Predict("context, question -> answer")

    def forward(self, question: str, k: int = 3) -> dspy.Prediction:
        return self.answer(context=f"{k} passages", question=question)


def test_a_module_with_a_forward_of_its_own_is_called_by_its_parameters(run, cell):
    code = "SUBMIT(answer('Why?', k=5) + answer_batched(['Who?', {'question': 'When?'}])[1])"
    replies = [cell(code), *[answers(answer=text) for text in ("A", "B", "C")]]
    prediction, lm = run(RLM("a -> b", subs={"answer": Answerer()}), replies, a="x")
    assert "- answer(question: str, k: int = 3) -> any" in lm.calls[0][-1]["content"]
    assert "5 passages" in lm.calls[1][-1]["content"]
    assert prediction.b[0] == "A" and prediction.b[1] in "BC"


class Later(dspy.Module):
    """A module that is only asynchronous."""

    async def aforward(self, text: str) -> dspy.Prediction:
        return dspy.Prediction(said=text.upper())


@pytest.mark.parametrize(
    "call", [lambda rlm: rlm(a="x"), lambda rlm: asyncio.run(rlm.acall(a="x"))], ids=["sync", "async"]
)
def test_a_module_that_is_only_asynchronous_is_called_too(cell, call):
    with dspy.context(lm=ScriptedLM([cell("SUBMIT(later('no') + later_batched(['a'])[0])")])):
        assert call(RLM("a -> b", subs={"later": Later()})).b == "NOA"


def test_an_rlm_can_be_a_sub_module_of_an_rlm(run, cell):
    rlm = RLM("a -> b: int", subs={"count": RLM("text -> words: int")})
    prediction, _ = run(rlm, [cell("SUBMIT(count(a))"), cell("SUBMIT(len(text.split()))")], a="to be or")
    assert prediction.b == 3
    assert [name for name, _ in rlm.named_predictors()] == [
        "act", "extract", "llm_query", "count.act", "count.extract", "count.llm_query"
    ]  # fmt: skip


def test_llm_query_can_be_replaced(run, cell):
    rlm = RLM("a -> b", subs={"llm_query": dspy.Predict("passage, question -> quote")})
    prediction, _ = run(rlm, [cell("SUBMIT(llm_query('p', 'q'))"), answers(quote="Q")], a="x")
    assert prediction.b == "Q"


def test_a_batch_runs_concurrently_with_results_in_order():
    barrier = threading.Barrier(3, timeout=20)

    class Meet(dspy.Module):
        def forward(self, text: str) -> dspy.Prediction:
            barrier.wait()  # passes only when three calls are here at once
            return dspy.Prediction(text=text * 2)

    rlm = RLM("a -> b: list[str]", subs={"meet": Meet()})
    with dspy.context(lm=ScriptedLM([FENCE("SUBMIT(meet_batched(['a', 'b', 'c']))")])):
        assert rlm(a="x").b == ["aa", "bb", "cc"]


@pytest.mark.parametrize(
    "call",
    [
        "add_batched([(1, 2), (3, 4)])",
        "add_batched([{'x': 1, 'y': 2}, {'x': 3, 'y': 4}])",
        "add_batched(x=[1, 3], y=[2, 4])",
    ],
)
def test_a_batch_of_several_inputs_takes_tuples_dicts_or_columns(run, cell, call):
    class Add(dspy.Module):
        def forward(self, x: int, y: int) -> dspy.Prediction:
            return dspy.Prediction(total=x + y)

    prediction, _ = run(RLM("a -> b: list[int]", subs={"add": Add()}), [cell(f"SUBMIT({call})")], a="x")
    assert prediction.b == [3, 7]


def test_a_failed_call_of_a_batch_is_marked_in_its_own_place(run, cell):
    class Invert(dspy.Module):
        def forward(self, x: int) -> dspy.Prediction:
            return dspy.Prediction(y=1 / x)

    code = "got = invert_batched([1, 0, 2])\nSUBMIT([str(g) for g in got])"
    prediction, _ = run(RLM("a -> b: list[str]", subs={"invert": Invert()}), [cell(code)], a="x")
    assert prediction.b == ["1.0", "[failed] ZeroDivisionError: division by zero", "0.5"]
    assert [call.error for call in prediction.trajectory[0].sub_calls] == [
        None, "ZeroDivisionError: division by zero", None
    ]  # fmt: skip


def test_a_failed_single_call_is_an_error_in_the_cell_that_it_can_catch(run, cell):
    class Fail(dspy.Module):
        def forward(self, x: int) -> dspy.Prediction:
            raise LookupError(f"no {x}")

    replies = [cell("fail(3)"), cell("try:\n    fail(4)\nexcept LookupError as e:\n    SUBMIT(str(e))")]
    prediction, _ = run(RLM("a -> b", subs={"fail": Fail()}), replies, a="x")
    assert prediction.trajectory[0].error == "LookupError: no 3"
    assert prediction.b == "no 4"


def test_an_empty_batch_costs_nothing(run, cell):
    prediction, _ = run(RLM("a -> b: list[str]"), [cell("SUBMIT(llm_query_batched([]))")], a="x")
    assert prediction.b == []


@pytest.mark.parametrize(
    ("code", "part"),
    [
        ("llm_query()", "missing a required argument: 'prompt'"),
        ("llm_query('a', 'b')", "too many positional arguments"),
        ("llm_query(question='a')", "missing a required argument: 'prompt'"),
        ("llm_query_batched('one text')", "expected a list, got str"),
        ("llm_query_batched(['a'], ['b'])", "expected one list, got 2 arguments"),
    ],
)
def test_wrong_arguments_are_errors_that_say_how_to_call(run, cell, code, part):
    prediction, _ = run(RLM("a -> b"), [cell(code), cell("SUBMIT('x')")], a="x")
    assert prediction.trajectory[0].error.startswith("TypeError: llm_query")
    assert part in prediction.trajectory[0].output


def test_calls_beyond_the_budget_raise_in_the_cell_and_none_is_made(run, cell):
    rlm = RLM("a -> b: int", max_llm_calls=2)
    replies = [cell("llm_query_batched(['p'] * 3)"), cell("SUBMIT(len(llm_query('p')))"), answers(response="one")]
    prediction, lm = run(rlm, replies, a="x")
    assert prediction.trajectory[0].error == (
        "BudgetExceededError: sub-LM call limit exceeded: 0 used + 3 requested > 2. "
        "Finish with plain Python over what you have, and SUBMIT."
    )
    assert prediction.b == 3


def test_the_calls_left_are_told_once_some_were_made(run, cell):
    replies = [cell("print(1)"), cell("llm_query('p')"), answers(response="r"), cell("SUBMIT('x')")]
    _, lm = run(RLM("a -> b", max_llm_calls=7), replies, a="x")
    assert "calls left" not in lm.calls[1][-1]["content"]
    assert "6 sub-LM calls left." in lm.calls[3][-1]["content"]


def test_sub_lm_answers_the_sub_modules_and_the_root_lm_the_turns():
    root, sub = ScriptedLM([FENCE("SUBMIT(llm_query('p'))")]), ScriptedLM([answers(response="sub")])
    rlm = RLM("a -> b", sub_lm=sub)
    with dspy.context(lm=root):
        assert rlm(a="x").b == "sub"
    assert (root.left, sub.left) == (0, 0)


def test_a_sub_modules_own_lm_goes_before_sub_lm():
    own = ScriptedLM([answers(stars=5)])
    rate = dspy.Predict("ticket -> stars: int")
    rate.lm = own
    rlm = RLM("a -> b: int", subs={"rate": rate}, sub_lm=ScriptedLM([]))
    with dspy.context(lm=ScriptedLM([FENCE("SUBMIT(rate('t'))")])):
        assert rlm(a="x").b == 5


def test_what_is_no_module_is_refused():
    with pytest.raises(UsageError, match="rate"):
        RLM("a -> b", subs={"rate": "ticket -> stars"})  # type: ignore[dict-item]


def test_a_trajectory_with_any_sub_call_result_can_be_saved_as_json(run, cell):
    rlm = RLM("a -> b", subs={"read": dspy.Predict("page -> title, pages: int")})
    prediction, _ = run(rlm, [cell("SUBMIT(read(a).title)"), answers(title="Emma", pages=3)], a="x")
    assert '"output":{"title":"Emma","pages":3}' in prediction.trajectory.model_dump_json()


def _interrupt() -> None:
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


def test_ctrl_c_ends_a_batch_without_the_calls_not_made_yet(run, cell):
    made, answer = [], threading.Event()

    class Interrupted(dspy.Module):
        def forward(self, text: str) -> dspy.Prediction:
            made.append(text)
            _interrupt()
            answer.wait()
            return dspy.Prediction(reply=text)

    rlm = RLM("a -> b", subs={"ask": Interrupted()})
    threads = set(threading.enumerate())
    with dspy.context(num_threads=1), pytest.raises(KeyboardInterrupt):
        run(rlm, [cell("ask_batched(list(a))")], a="xyz")
    answer.set()
    for thread in set(threading.enumerate()) - threads:
        thread.join()
    assert made == ["x"]


def test_ctrl_c_ends_a_cell_that_runs(run, cell):
    def interrupt() -> None:
        threading.Thread(target=_interrupt).start()

    with pytest.raises(KeyboardInterrupt):
        run(RLM("a -> b", tools=[interrupt]), [cell("interrupt()\nwhile True:\n    pass")], a="x")
