"""README's Python code runs.

A block that asks an LM stands below a comment with the replies a scripted LM gives in place of a real one, one after the
other, parted by lines of three dashes:

    <!-- replies:
    ```python
    SUBMIT(answer="42")
    ```
    -->
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import dspy
import pytest

import dspy_rlm.local
from dspy_rlm.testing import ScriptedLM

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(
    r"(?:^<!-- replies:\n(?P<replies>.*?)\n-->\n+)?^```python\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE
)


def blocks(text: str) -> list[tuple[list[str], str]]:
    """The Python blocks of a Markdown text, each with the replies that its LM gives."""
    found = BLOCK.finditer(text)
    return [(re.split(r"^---\n", m["replies"], flags=re.MULTILINE) if m["replies"] else [], m["code"]) for m in found]


BLOCKS = blocks((ROOT / "README.md").read_text())


@pytest.fixture
def dspy_settings() -> Iterator[None]:
    """Whatever a block configures is undone."""
    before = dspy.settings.lm
    yield
    dspy.configure(lm=before)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_block_runs(number: int, monkeypatch: pytest.MonkeyPatch, dspy_settings: None) -> None:
    replies, code = BLOCKS[number]
    lm = ScriptedLM(replies)
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(dspy, "LM", lambda *args, **kwargs: lm)
    monkeypatch.setattr(dspy_rlm.local, "local_lm", lambda *args, **kwargs: lm)
    exec(compile(code, f"README.md block {number}", "exec"), {"__name__": "__main__"})
    assert lm.left == 0, "README gives replies that its code does not ask for"


def test_a_block_is_found_with_the_replies_above_it() -> None:
    text = "<!-- replies:\n```python\nSUBMIT(1)\n```\n---\n2\n-->\n```python\nfirst\n```\n\n```sh\nls\n```\n\n```python\nsecond\n```\n"
    assert blocks(text) == [(["```python\nSUBMIT(1)\n```\n", "2"], "first\n"), ([], "second\n")]


def test_the_transcript_is_that_of_the_run_on_record() -> None:
    shown = (ROOT / "README.md").read_text().split("```text\n")[1].split("```")[0]
    recorded = (ROOT / "examples" / "transcripts" / "most_airports.txt").read_text()
    lines = [[line.rstrip() for line in text.splitlines()[1:]] for text in (shown, recorded)]
    assert lines[0] == lines[1]


def test_links_to_files_lead_somewhere() -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", (ROOT / "README.md").read_text())
    assert [target for target in targets if not (ROOT / target).exists()] == []
