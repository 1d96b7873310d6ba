"""What the root LM is sent: every call's messages extend those of the call before, and the contract is always there."""

from __future__ import annotations

import enum
from typing import Annotated, Any, Literal

import dspy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from dspy_rlm import RLM, Step, Trajectory
from dspy_rlm.sandbox.outcomes import Output, Ran, Submitted
from dspy_rlm.testing import ScriptedInterpreter, ScriptedLM

FENCE = "```python\n{}\n```".format
ADAPTERS = [dspy.ChatAdapter, dspy.JSONAdapter, dspy.XMLAdapter]
REPLY = {
    "ChatAdapter": "[[ ## reasoning ## ]]\n{0}\n\n[[ ## code ## ]]\n```python\n{1}\n```\n\n[[ ## completed ## ]]",
    "XMLAdapter": "<reasoning>\n{0}\n</reasoning>\n<code>\n{1}\n</code>",
    "JSONAdapter": '{{"reasoning": "{0}", "code": "{1}"}}',
}


def _messages(adapter: type[dspy.Adapter], replies: list[str], outputs: list[str], **config: Any) -> list[Any]:
    lm = ScriptedLM(replies)
    outcomes = [Ran(Output(text, length=len(text))) for text in outputs] + [Submitted(Output(), {"b": 1})]
    rlm = RLM("a -> b: int", interpreter_factory=lambda: ScriptedInterpreter(outcomes), **config)
    with dspy.context(lm=lm, adapter=adapter()):
        rlm(a="x" * 5000)
    return lm.calls


@pytest.mark.parametrize("adapter", ADAPTERS)
@settings(deadline=None, max_examples=40)
@given(
    outputs=st.lists(st.text(max_size=40), min_size=1, max_size=4),
    replies=st.lists(
        st.tuples(
            st.sampled_from(["formatted", "fenced", "raw"]), st.text(max_size=30), st.text(min_size=1, max_size=30)
        ),
        min_size=5,
        max_size=5,
    ),
)
def test_each_calls_messages_are_a_prefix_of_the_next_calls(adapter, outputs, replies):
    def text(kind: str, reasoning: str, code: str) -> str:
        if kind == "raw":
            return reasoning
        return REPLY[adapter.__name__].format(reasoning, code) if kind == "formatted" else f"{reasoning}\n{FENCE(code)}"

    script = [text(*reply) for reply in replies] + [FENCE("1")] * 20
    outcomes = outputs + ["x"] * 20
    lm = ScriptedLM(script)
    interpreter = ScriptedInterpreter([Ran(Output(text, length=len(text))) for text in outcomes])
    rlm = RLM("a -> b: int", interpreter_factory=lambda: interpreter, max_iters=6)
    with dspy.context(lm=lm, adapter=adapter()), pytest.raises(Exception, match="none could be extracted"):
        rlm(a="x" * 5000)
    turns = lm.calls[:6]
    for shorter, longer in zip(turns, turns[1:], strict=False):
        assert longer[: len(shorter)] == shorter
        assert len(longer) == len(shorter) + 2


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_turns_are_a_chat_with_one_assistant_message_a_reply(adapter):
    reply = REPLY[adapter.__name__]
    calls = _messages(adapter, [reply.format("Look.", "print(1)"), reply.format("Done.", "SUBMIT(1)")], ["1"])
    assert [message["role"] for message in calls[-1]] == ["system", "user", "assistant", "user"]
    assert "print(1)" in calls[-1][2]["content"] and "Look." in calls[-1][2]["content"]
    assert "Turn 2 of 20." in calls[-1][3]["content"]


class Severity(enum.Enum):
    LOW = "low"
    HIGH = "high"


class Finding(BaseModel):
    file: str = Field(description="path from the root")
    line: Annotated[int, Field(ge=1)]


class Audit(dspy.Signature):
    """INSTRUCTIONS OF THE TASK."""

    code_base: dict[str, str] = dspy.InputField(desc="path to text")
    question: str = dspy.InputField()
    findings: list[Finding] = dspy.OutputField()
    severity: Severity = dspy.OutputField(desc="of the worst finding")
    verdict: Literal["ship", "stop"] = dspy.OutputField()


def lookup(key: str, limit: int = 3) -> list[str]:
    """Look a key up in the index."""
    return [key] * limit


def test_with_every_instruction_replaced_the_prompt_still_holds_the_contract():
    rlm = RLM(Audit, tools=[lookup], subs={"classify": dspy.Predict("ticket -> label: Literal['bug', 'other']")})
    for predictor in rlm.predictors():
        predictor.signature = predictor.signature.with_instructions("x")
    lm = ScriptedLM([FENCE("SUBMIT(findings=[], severity='low', verdict='ship')")])
    with dspy.context(lm=lm):
        assert rlm(code_base={"a.py": "pass" * 1000}, question="Safe?").severity is Severity.LOW
    system, user = (message["content"] for message in lm.calls[0])
    assert "INSTRUCTIONS OF THE TASK" not in system + user
    for part in (
        "code_base: dict[str, str] (path to text), 1 items",
        "question: str = 'Safe?'",
        "llm_query(prompt: str) -> str",
        "llm_query_batched(list of str) -> list of str",
        "classify(ticket: str) -> 'bug' | 'other'",
        "classify_batched(list of str)",
        "at most 50 calls",
        "lookup(key: str, limit: int = 3) -> list[str]: Look a key up in the index.",
        "SUBMIT(findings=..., severity=..., verdict=...)",
        "findings: list[Finding]",
        "'low' | 'high' (of the worst finding)",
        "verdict: 'ship' | 'stop'",
        "Finding = ",
        "path from the root",
        "Turn 1 of 20.",
    ):
        assert part in user, part


def test_demos_go_before_the_run_as_whole_trajectories():
    rlm = RLM("a -> b: int")
    steps = Trajectory(
        (
            Step(reasoning="Look first.", code="print(a[:9])", output="aaaaaaaaa"),
            Step(reasoning="Known.", code="SUBMIT(b=9)", output="Submitted: b=9"),
        )
    )
    demo = dspy.Example(variables="- a: str, 9 characters", trajectory=steps)
    rlm.act.demos = [demo, dspy.Example(a="RAW " * 1000, b=1).with_inputs("a")]
    lm = ScriptedLM([FENCE("SUBMIT(1)")])
    with dspy.context(lm=lm):
        rlm(a="x")
    roles = [message["role"] for message in lm.calls[0]]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
    texts = [message["content"] for message in lm.calls[0]]
    assert "- a: str, 9 characters" in texts[1] and "Turn 1 of 20." in texts[1]
    assert "Look first." in texts[2] and "aaaaaaaaa" in texts[3] and "SUBMIT(b=9)" in texts[4]
    assert "RAW" not in "".join(texts)


def test_a_demo_saved_as_json_gives_the_same_messages(tmp_path):
    steps = Trajectory((Step(reasoning="Known.", code="SUBMIT(b=9)", output="Submitted: b=9"),))
    calls = []
    for reload in (False, True):
        rlm = RLM("a -> b: int")
        rlm.act.demos = [dspy.Example(variables="- a: str", trajectory=steps)]
        if reload:
            rlm.save(tmp_path / "tuned.json")
            rlm = RLM("a -> b: int")
            rlm.load(tmp_path / "tuned.json")
        lm = ScriptedLM([FENCE("SUBMIT(1)")])
        with dspy.context(lm=lm):
            rlm(a="x")
        calls.append(lm.calls)
    assert calls[0] == calls[1]


def test_a_short_input_is_shown_whole_and_a_long_one_by_its_ends():
    lm = ScriptedLM([FENCE("SUBMIT(1)")])
    with dspy.context(lm=lm):
        RLM("short, long -> b: int")(short="line one\nline two", long="BEGIN" + "x" * 100_000 + "END")
    told = lm.calls[0][1]["content"]
    assert r"short: str = 'line one\nline two'" in told
    assert "long: str, 100,008 characters" in told and "BEGIN" in told and "END" in told
    assert len(told) < 3000


def test_the_last_turn_says_that_it_is_the_last():
    lm = ScriptedLM([FENCE("1"), FENCE("SUBMIT(1)")])
    with dspy.context(lm=lm):
        RLM("a -> b: int", max_iters=2)(a="x")
    assert "Turn 2 of 2. It is the last one: write SUBMIT(b=...) now" in lm.calls[1][-1]["content"]


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_reply_that_cannot_be_parsed_costs_no_second_call(adapter):
    lm = ScriptedLM(["Let me think about it.", FENCE("SUBMIT(1)")])
    with dspy.context(lm=lm, adapter=adapter()):
        prediction = RLM("a -> b: int")(a="x")
    assert len(lm.calls) == 2
    assert prediction.trajectory[0].error == "no cell in the reply"
    assert prediction.trajectory[0].reasoning == "Let me think about it."
    assert "held no Python cell" in prediction.trajectory[0].output
