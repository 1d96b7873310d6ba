"""Replies that follow no format."""

from __future__ import annotations

import pytest
from dspy.utils.exceptions import AdapterParseError
from hypothesis import given
from hypothesis import strategies as st

from dspy_rlm import RLM
from dspy_rlm.replies import read_reply

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
]


@pytest.mark.parametrize("text", TEXTS)
def test_code_is_taken_from_the_first_fenced_block(run, cell, text):
    prediction, _ = run(RLM("a -> b: int"), [text, cell("SUBMIT(1)")], a="x")
    step = prediction.trajectory[0]
    assert (step.code, step.output, step.error) == ("print(1)", "1", None)
    assert step.reasoning.split("\n")[0] == ("Look." if "Look." in text else "")


@pytest.mark.parametrize(
    "text", ["", "   ", "I am not sure.", "```python\n```", "```json\n{}\n```", "[[ ## code ## ]]"]
)
def test_a_reply_without_a_cell_is_told_what_to_send(run, cell, text):
    prediction, lm = run(RLM("a -> b: int"), [text, cell("SUBMIT(1)")], a="x")
    assert prediction.trajectory[0].error == "no cell in the reply"
    assert "Your reply held no Python cell" in lm.calls[1][-1]["content"]
    assert prediction.b == 1


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
