"""Programs as DSPy's documentation of `dspy.RLM` shows them run the same with `RLM` of this package in its place.

https://dspy.ai/api/modules/RLM: each kind of program there, with the same script for both modules.
"""

from __future__ import annotations

import asyncio
from typing import Any

import dspy
import pytest

import dspy_rlm
from dspy_rlm.testing import ScriptedLM

REPLY = "[[ ## reasoning ## ]]\n{}\n\n[[ ## code ## ]]\n```python\n{}\n```\n\n[[ ## completed ## ]]".format
DOCUMENT = "Q1 was slow. Total revenue: $20,000,000. The magic number is 42.\n" * 200


@pytest.fixture(params=["dspy", "dspy_rlm"])
def module(request: pytest.FixtureRequest) -> Any:
    """The module that `RLM` is imported from; DSPy's runs on an interpreter that needs no Deno."""
    if request.param == "dspy_rlm":
        yield dspy_rlm
    else:
        with dspy.context(interpreter_factory=dspy.LocalInterpreter):
            yield dspy


pytestmark = pytest.mark.filterwarnings("ignore:.*experimental.*:Warning")


def test_basic_usage(module):
    rlm = module.RLM("context, query -> answer")
    replies = [
        REPLY("Peek.", "print(context[:2000])"),
        REPLY("Search.", "import re\nmatches = re.findall(r'revenue.*?\\$[\\d,]+', context, re.I)\nprint(matches[0])"),
        REPLY("Submit.", "SUBMIT(matches[0])"),
    ]
    with dspy.context(lm=ScriptedLM(replies)):
        result = rlm(context=DOCUMENT, query="What is the total revenue mentioned?")
    assert result.answer == "revenue: $20,000,000"


def test_long_document_question_answering_with_a_sub_lm(module):
    root = ScriptedLM(
        [REPLY("Ask.", "answer = llm_query('Key findings of: ' + document[:100])\nSUBMIT(answer=answer)")]
    )

    def sub(messages: Any) -> str:
        return "[[ ## response ## ]]\nRevenue grew.\n[[ ## completed ## ]]" if module is dspy_rlm else "Revenue grew."

    rlm = module.RLM("document, question -> answer", max_iters=10, sub_lm=ScriptedLM([sub]))
    with dspy.context(lm=root):
        assert rlm(document=DOCUMENT, question="What were the key findings?").answer == "Revenue grew."


def test_multiple_typed_outputs(module):
    rlm = module.RLM("logs -> error_count: int, critical_errors: list[str]")
    code = "errors = [l for l in logs.splitlines() if 'ERROR' in l]\nSUBMIT(error_count=len(errors), critical_errors=errors)"
    with dspy.context(lm=ScriptedLM([REPLY("Filter.", code)])):
        result = rlm(logs="INFO a\nERROR b\nERROR c")
    assert (result.error_count, result.critical_errors) == (2, ["ERROR b", "ERROR c"])


def test_custom_tools(module):
    def fetch_metadata(doc_id: str) -> str:
        """Fetch metadata for a document ID."""
        return f"metadata of {doc_id}"

    rlm = module.RLM("documents, query -> answer", tools=[fetch_metadata])
    with dspy.context(lm=ScriptedLM([REPLY("Fetch.", "SUBMIT(fetch_metadata(doc_id=documents[0]))")])):
        assert rlm(documents=["d1"], query="Who?").answer == "metadata of d1"


def test_async_execution(module):
    rlm = module.RLM("context, query -> answer")

    async def process() -> str:
        with dspy.context(lm=ScriptedLM([REPLY("Submit.", "SUBMIT(context[:2])")])):
            return (await rlm.acall(context=DOCUMENT, query="Summarize this")).answer

    assert asyncio.run(process()) == "Q1"


def test_inspecting_the_trajectory(module):
    rlm = module.RLM("context, query -> answer")
    replies = [REPLY("Look.", "print(len(context))"), REPLY("Submit.", "SUBMIT('42')")]
    with dspy.context(lm=ScriptedLM(replies)):
        result = rlm(context=DOCUMENT, query="Find the magic number")
    codes = [step["code"] for step in result.trajectory]
    assert [code.replace("```python\n", "").replace("\n```", "") for code in codes] == [
        "print(len(context))",
        "SUBMIT('42')",
    ]
    assert str(len(DOCUMENT)) in result.trajectory[0]["output"].replace(",", "")
    assert result.final_reasoning == "Submit."


def test_running_out_of_turns_extracts(module):
    rlm = module.RLM("context, query -> answer", max_iters=1)
    extracted = "[[ ## answer ## ]]\n42\n[[ ## completed ## ]]"
    with dspy.context(lm=ScriptedLM([REPLY("Look.", "print(42)"), extracted])):
        assert rlm(context=DOCUMENT, query="Find the magic number").answer == "42"


def test_a_call_can_bring_its_own_interpreter(module):
    rlm = module.RLM("context -> answer")
    with dspy.context(lm=ScriptedLM([REPLY("Submit.", "SUBMIT(context)")])):
        assert rlm(context="x", interpreter_factory=dspy.LocalInterpreter).answer == "x"
