"""Replies that follow no format."""

from __future__ import annotations

import dspy
import pytest
from dspy.utils.exceptions import AdapterParseError
from hypothesis import given
from hypothesis import strategies as st

from dspy_rlm import RLM
from dspy_rlm.replies import read_reply, read_unparsed

TEXTS = [
    "Look.\n```python\nprint(1)\n```",
    "Look.\n```py\nprint(1)\n```\nand so on",
    "Look.\n```repl\nprint(1)\n```",
    "Look.\n```\nprint(1)\n```",
    "Look.\n``` Python3 \nprint(1)\n```",
    "Look.\n  ```python\nprint(1)\n  ```",
    "Look.\n```python\nprint(1)",
    "Look.\n```py3\nprint(1)\n```",
    'Look.\n```python title="a"\nprint(1)\n```',
    "Look.\n````ipython\nprint(1)\n````",
    "Look.\n~~~\nprint(1)\n~~~",
    "Look.\r\n```\r\nprint(1)\r\n```\r\n",
    "Look.\n  ```python\n  print(1)\n  ```",
    "<think>\n```python\nprint(0)\n```\n</think>Look.\n```python\nprint(1)\n```",
    "Look.\n```python\nprint(1)\n```\n```python\nprint(2)\n```",
    "Look.\n```json\n{}\n```\n```python\nprint(1)\n```",
    "[[ ## reasoning ## ]]\nLook.\n[[ ## code ## ]]\nprint(1)\n[[ ## completed ## ]]",
    "[[ ## reasoning ## ]]\nLook.\n[[ ## code ## ]]\n```python\nprint(1)\n```",
    "[[ ## reasoning ## ]]\nLook.\n```python\nprint(1)\n```",
    "[[ ## code ## ]]\n```python\nprint(1)\n```",
    '{"reasoning": "Look.", "code": "print(1)"}',
    '```json\n{"reasoning": "Look.", "code": "```python\\nprint(1)\\n```"}\n```',
    "<reasoning>\nLook.\n</reasoning>\n<code>\nprint(1)\n</code>",
]


@pytest.mark.parametrize("text", TEXTS)
def test_code_is_taken_from_the_first_fenced_block(run, cell, text):
    prediction, _ = run(RLM("a -> b: int"), [text, cell("SUBMIT(1)")], a="x")
    step = prediction.trajectory[0]
    assert (step.code, step.output, step.error) == ("print(1)", "1", None)
    assert step.reasoning.split("\n")[0] == ("Look." if "Look." in text else "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "I am not sure.",
        "```python\n```",
        "```json\n{}\n```",
        "```python\nNone\n```",
        "[[ ## code ## ]]",
        "[[ ## code ## ]]\nNone\n[[ ## completed ## ]]",
        '{"reasoning": "Look.", "code": ""}',
        "<code></code>",
    ],
)
def test_a_reply_without_a_cell_is_told_what_to_send(run, cell, text):
    prediction, lm = run(RLM("a -> b: int"), [text, cell("SUBMIT(1)")], a="x")
    assert prediction.trajectory[0].error == "no cell in the reply"
    assert "Your reply held no Python cell" in lm.calls[1][-1]["content"]
    assert prediction.b == 1


@pytest.mark.parametrize(
    ("adapter", "text"),
    [
        (dspy.XMLAdapter(), "<reasoning>Look.</reasoning>\n<code>\nif 1 < 2: print(1)\n</code>"),
        (dspy.XMLAdapter(), "<reasoning>Look.</reasoning>\n<code>\nif 1 &lt; 2 and 1 & 3: print(1)\n</code>"),
        (dspy.XMLAdapter(), "Look.\n```python\nif 1 &lt; 2: print(1)\n```"),
        (
            dspy.XMLAdapter(),
            "[[ ## reasoning ## ]]\nLook.\n[[ ## code ## ]]\nif 1 < 2: print(1)\n[[ ## completed ## ]]",
        ),
        (dspy.JSONAdapter(), "[[ ## reasoning ## ]]\nLook.\n[[ ## code ## ]]\nif 1 < 2: print(1)"),
        (dspy.JSONAdapter(), "<reasoning>Look.</reasoning><code>if 1 < 2: print(1)</code>"),
    ],
)
def test_a_reply_in_the_format_of_another_adapter_or_not_quite_in_its_own_is_read(run, adapter, text):
    with dspy.context(adapter=adapter):
        prediction, _ = run(RLM("a -> b: int"), [text, "```python\nSUBMIT(1)\n```"], a="x")
    assert (prediction.trajectory[0].reasoning, prediction.trajectory[0].output) == ("Look.", "1")


def test_entities_that_are_part_of_a_text_in_the_cell_are_left_as_they_are():
    code = 'print(text.replace("&lt;", "<"))'
    error = AdapterParseError("XMLAdapter", dspy.Signature("a -> code"), f"```python\n{code}\n```")
    assert read_unparsed(error).code == code


def test_json_that_has_no_code_is_no_cell(run, cell):
    with dspy.context(adapter=dspy.JSONAdapter()):
        replies = ['{"reasoning": "Look.", "code": null}', '{"reasoning": "Done.", "code": "SUBMIT(1)"}']
        prediction, _ = run(RLM("a -> b: int"), replies, a="x")
    assert prediction.trajectory[0].error == "no cell in the reply"


def test_a_cell_that_names_draft_marks_is_left_as_it_is():
    code = 's = re.sub("<think>.*?</think>", "", s)'
    assert read_reply("Strip.", code).code == read_reply(None, f"```python\n{code}\n```").code == code


@given(reasoning=st.one_of(st.none(), st.text()), code=st.one_of(st.none(), st.text(), st.integers()))
def test_any_fields_make_a_reply(reasoning, code):
    reply = read_reply(reasoning, code)
    assert isinstance(reply.reasoning, str)
    assert reply.code is None or reply.code.strip()


def test_no_parse_failure_escapes(run):
    extraction = ["nothing to parse", "nothing to parse"]
    with pytest.raises(Exception, match="none could be extracted") as caught:
        run(RLM("a -> b: int", max_iters=3), ["?", "?", "?", *extraction], a="x")
    assert not isinstance(caught.value, AdapterParseError)
