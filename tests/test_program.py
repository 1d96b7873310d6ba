"""An RLM as a DSPy program: predictors, traces, state, copies, threads."""

from __future__ import annotations

import copy
import logging
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import cloudpickle
import dspy
import pytest

from dspy_rlm import RLM, RestrictedInterpreter, Step, Trajectory, UsageError
from dspy_rlm.testing import ScriptedLM

FENCE = "```python\n{}\n```".format
SUBMITS = FENCE("SUBMIT(len(a))")


def shout(text: str) -> str:
    """Shout."""
    return text.upper()


def program() -> RLM:
    return RLM("a -> b: int", subs={"rate": dspy.ChainOfThought("text -> stars: int")}, tools=[shout], max_iters=5)


def answer(rlm: dspy.Module, lm: dspy.BaseLM | None = None) -> int:
    with dspy.context(lm=lm or ScriptedLM([SUBMITS])):
        return rlm(a="four").b


def tuned() -> RLM:
    rlm = program()
    rlm.act.signature = rlm.act.signature.with_instructions("TUNED ROOT")
    rlm.llm_query.signature = rlm.llm_query.signature.with_instructions("TUNED QUERY")
    steps = Trajectory((Step(reasoning="Known.", code="SUBMIT(b=9)", output="Submitted: b=9"),))
    rlm.act.demos = [dspy.Example(variables="- a: str", trajectory=steps)]
    return rlm


def test_every_prompt_is_a_named_predictor():
    assert [name for name, _ in program().named_predictors()] == ["act", "extract", "llm_query", "rate.predict"]


def test_sub_modules_are_attributes_and_can_be_replaced():
    rlm = program()
    rlm.rate = dspy.Predict("text -> stars: int")
    assert [name for name, _ in rlm.named_predictors()] == ["act", "extract", "llm_query", "rate"]
    lm = ScriptedLM([FENCE("SUBMIT(rate('x'))"), "[[ ## stars ## ]]\n3\n[[ ## completed ## ]]"])
    assert answer(rlm, lm) == 3


def test_a_run_puts_one_entry_of_act_and_one_of_each_sub_call_into_the_trace():
    rlm = program()
    replies = [
        FENCE("print(1)"),
        FENCE("r = llm_query_batched(['p', 'q'])"),
        "[[ ## response ## ]]\nr",
        "[[ ## response ## ]]\nr",
        SUBMITS,
    ]
    with dspy.context(trace=[], lm=ScriptedLM(replies)):
        prediction = rlm(a="four")
        trace = list(dspy.settings.trace)
    assert [entry[0] for entry in trace] == [rlm.llm_query, rlm.llm_query, rlm.act]
    predictor, inputs, output = trace[-1]
    assert list(inputs) == ["variables"] and inputs["variables"].startswith("Variables in the sandbox:")
    assert output.trajectory == prediction.trajectory.lean()
    assert [step.code for step in output.trajectory] == [
        "print(1)",
        "r = llm_query_batched(['p', 'q'])",
        "SUBMIT(len(a))",
    ]
    assert output.trajectory[1].sub_calls == ()


def test_an_extraction_is_in_the_trace_after_its_trajectory():
    rlm = RLM("a -> b: int", max_iters=1)
    with dspy.context(trace=[], lm=ScriptedLM([FENCE("1"), "[[ ## b ## ]]\n3\n[[ ## completed ## ]]"])):
        rlm(a="x")
        assert [entry[0] for entry in dspy.settings.trace] == [rlm.act, rlm.extract]


def test_instructions_of_the_task_and_advice_are_what_an_optimizer_may_rewrite():
    class Task(dspy.Signature):
        """Find the culprit."""

        log: str = dspy.InputField()
        culprit: str = dspy.OutputField()

    assert RLM(Task).act.signature.instructions.startswith("Find the culprit.")


def test_tuned_state_is_used():
    lm = ScriptedLM([SUBMITS])
    answer(tuned(), lm)
    assert "TUNED ROOT" in lm.calls[0][0]["content"]
    assert "SUBMIT(b=9)" in lm.calls[0][2]["content"]


COPIES = {
    "deepcopy": lambda rlm, _: copy.deepcopy(rlm),
    "pickle": lambda rlm, _: pickle.loads(pickle.dumps(rlm)),
    "cloudpickle": lambda rlm, _: cloudpickle.loads(cloudpickle.dumps(rlm)),
    "module deepcopy": lambda rlm, _: rlm.deepcopy(),
    "json state": lambda rlm, folder: _loaded(rlm, folder / "tuned.json"),
    "pickle state": lambda rlm, folder: _loaded(rlm, folder / "tuned.pkl"),
    "whole program": lambda rlm, folder: _whole(rlm, folder),
}


def test_a_state_of_another_kind_of_program_is_refused_with_what_it_holds():
    state = {**RLM("a -> b: int").dump_state(), "metadata": {}}
    with pytest.raises(UsageError, match="the predictors act, extract, llm_query, this one has .*rate.predict"):
        program().load_state(state)
    with pytest.raises(UsageError, match="rate.predict, this one has act, extract, llm_query:"):
        RLM("a -> b: int").load_state(program().dump_state())


def test_a_state_of_another_task_is_refused_with_both_tasks():
    with pytest.raises(
        UsageError, match="inputs a and the outputs b, this program's has the inputs a, c and the outputs d"
    ):
        RLM("a, c -> d").load_state(RLM("a -> b").dump_state())


def test_a_state_saved_as_a_part_of_a_larger_program_loads_there():
    class Outer(dspy.Module):
        def __init__(self):
            super().__init__()
            self.inner = program()

    outer = Outer()
    outer.inner.act.signature = outer.inner.act.signature.with_instructions("TUNED")
    fresh = Outer()
    fresh.load_state(outer.dump_state())
    assert fresh.inner.act.signature.instructions == "TUNED"


def test_the_arguments_of_dspy_rlm_are_taken_by_position_too():
    lm = ScriptedLM([])
    rlm = RLM("a -> b", 3, 4, 500, True, [shout], lm, RestrictedInterpreter)
    assert (rlm.max_iters, rlm.max_llm_calls, rlm.max_output_chars, rlm.verbose) == (3, 4, 500, True)
    assert list(rlm.tools) == ["shout"] and rlm.sub_lm is lm


def _loaded(rlm, path):
    rlm.save(path)
    fresh = program()
    fresh.load(path, **({"allow_pickle": True} if path.suffix == ".pkl" else {}))
    return fresh


def _whole(rlm, folder):
    rlm.save(folder / "program", save_program=True)
    return dspy.load(folder / "program", allow_pickle=True)


@pytest.mark.parametrize("make_copy", COPIES.values(), ids=COPIES.keys())
def test_a_copy_answers_with_the_same_prompt(make_copy, tmp_path):
    first, second = ScriptedLM([SUBMITS]), ScriptedLM([SUBMITS])
    rlm = tuned()
    assert answer(rlm, first) == answer(make_copy(rlm, tmp_path), second) == 4
    assert first.calls == second.calls


@pytest.mark.parametrize("make_copy", [copy.deepcopy, lambda rlm: rlm.deepcopy()], ids=["deepcopy", "module deepcopy"])
def test_a_deep_copy_shares_no_demo_with_its_original(make_copy, caplog):
    inner = RLM("a -> b", subs={"classify": RLM("c -> d")})
    demo = dspy.Example(variables="v", trajectory=[{"reasoning": "r", "code": "1", "output": "1"}])
    inner.act.demos = [demo]
    inner.classify.act.demos = [demo.copy()]
    copied = make_copy(inner)
    copied.act.demos[0].trajectory[0]["code"] = "changed"
    copied.classify.act.demos[0].trajectory[0]["code"] = "changed"
    assert demo.trajectory[0]["code"] == "1"
    assert copied.subs["classify"] is copied.classify
    assert not caplog.records


def test_a_deep_copy_shares_what_cannot_be_copied():
    lock = threading.Lock()

    def tool(x: str) -> bool:
        return lock.locked()

    rlm = RLM("a -> b", tools=[tool], subs={"locked": Locked(lock)})
    assert copy.deepcopy(rlm).locked.lock is lock


class Locked(dspy.Module):
    def __init__(self, lock):
        super().__init__()
        self.lock = lock
        self.answer = dspy.Predict("a -> b")


def test_majority_votes_on_the_last_output():
    answers = [answered(RLM("a -> b"), ScriptedLM([FENCE(f"SUBMIT({value!r})")])) for value in "xyy"]
    assert dspy.majority(answers).b == "y"


def answered(rlm, lm):
    with dspy.context(lm=lm):
        return rlm(a="x")


def test_reset_copy_forgets_demos_and_keeps_the_rest():
    fresh = tuned().reset_copy()
    assert fresh.act.demos == []
    assert fresh.act.signature.instructions == "TUNED ROOT"
    assert answer(fresh) == 4


def test_raw_training_examples_are_not_saved(tmp_path):
    rlm = tuned()
    for predictor in rlm.predictors():
        predictor.demos = [*predictor.demos, dspy.Example(a="RAW " * 10_000, b=1).with_inputs("a")]
    rlm.save(tmp_path / "tuned.json")
    text = (tmp_path / "tuned.json").read_text()
    assert "RAW" not in text and "SUBMIT(b=9)" in text
    assert len(text) < 10_000


def test_set_lm_reaches_every_predictor():
    rlm, lm = program(), ScriptedLM([FENCE("SUBMIT(len(llm_query('p')))"), "[[ ## response ## ]]\nfive!"])
    rlm.set_lm(lm)
    assert rlm(a="x").b == 5
    assert rlm.get_lm() is lm


def test_parallel_and_batch_run_many():
    rlm = program()
    examples = [dspy.Example(a="x" * n).with_inputs("a") for n in range(1, 7)]
    with dspy.context(lm=ScriptedLM([SUBMITS] * 12)):
        assert [p.b for p in rlm.batch(examples, num_threads=3)] == [1, 2, 3, 4, 5, 6]
        results = dspy.Parallel(num_threads=3, disable_progress_bar=True)([(rlm, example) for example in examples])
    assert [p.b for p in results] == [1, 2, 3, 4, 5, 6]


def test_one_program_runs_in_many_threads_at_once():
    rlm = program()

    def run(n: int) -> int:
        with dspy.context(lm=ScriptedLM([FENCE("total = len(a)\nprint(total)"), FENCE("SUBMIT(total)")])):
            return rlm(a="x" * n).b

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(run, range(1, 17))) == list(range(1, 17))


def test_evaluate_scores_a_program():
    devset = [dspy.Example(a="four", b=4).with_inputs("a"), dspy.Example(a="five!", b=4).with_inputs("a")]
    evaluate = dspy.Evaluate(devset=devset, metric=lambda gold, pred, trace=None: gold.b == pred.b, num_threads=1)
    with dspy.context(lm=ScriptedLM([SUBMITS] * 2)):
        assert evaluate(program()).score == 50.0


def test_bootstrap_few_shot_collects_whole_trajectories_as_demos():
    trainset = [dspy.Example(a="x" * 2000, b=2000).with_inputs("a")]
    optimizer = dspy.BootstrapFewShot(metric=lambda gold, pred, trace=None: gold.b == pred.b, max_labeled_demos=0)
    with dspy.context(lm=ScriptedLM([FENCE("print(len(a))"), SUBMITS])):
        compiled = optimizer.compile(RLM("a -> b: int"), trainset=trainset)
    (demo,) = compiled.act.demos
    assert [step.code for step in demo.trajectory] == ["print(len(a))", "SUBMIT(len(a))"]
    lm = ScriptedLM([SUBMITS])
    answer(compiled, lm)
    assert [message["role"] for message in lm.calls[0]] == ["system", *["user", "assistant"] * 2, "user"]


def test_callbacks_see_the_module_and_its_lm_calls():
    seen: list[str] = []

    class Watch(dspy.utils.callback.BaseCallback):
        def on_module_start(self, call_id, instance, inputs):
            seen.append(type(instance).__name__)

        def on_lm_start(self, call_id, instance, inputs):
            seen.append("LM")

    with dspy.context(callbacks=[Watch()]):
        answer(program())
    assert seen[0] == "RLM" and seen.count("LM") == 1


def test_streamed_and_cached_settings_do_not_disturb_a_run():
    with dspy.context(track_usage=True, max_history_size=0):
        assert answer(program()) == 4


def test_verbose_logs_each_turn(caplog):
    dspy_logger = logging.getLogger("dspy")
    propagates, dspy_logger.propagate = dspy_logger.propagate, True
    try:
        with caplog.at_level("INFO", logger="dspy.rlm"), dspy.context(lm=ScriptedLM([FENCE("print('seen')"), SUBMITS])):
            RLM("a -> b: int", verbose=True)(a="four")
    finally:
        dspy_logger.propagate = propagates
    text = caplog.text
    assert "at most 20 turns" in text and "print('seen')" in text and "Submitted: b=4" in text
