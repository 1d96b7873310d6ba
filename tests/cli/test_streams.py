"""The real command in a process of its own, with standard streams that the caller closed, filled up or narrowed."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import dspy_rlm.cli.ask
from dspy_rlm.cli import main
from dspy_rlm.testing import ScriptedLM

cell = "Seen: \\u00e4\\udcff.\\n```python\\nprint('\\u00e4')\\nSUBMIT('\\u00e4\\\\udcff')\\n```"
dspy_rlm.cli.ask.make_lm = lambda choice: ScriptedLM([cell])
sys.argv = ["dspy-rlm", "ask", "Q?", "words.txt", "--model", "test/lm", *sys.argv[1:]]
main()
"""


@pytest.fixture
def shell(tmp_path):
    (tmp_path / "words.txt").write_text("to be")

    def run(redirection, *options, encoding="utf-8"):
        command = f'exec "$@" {redirection}'
        environment = {"PATH": "/usr/bin:/bin", "PYTHONIOENCODING": encoding, "DSPY_CACHEDIR": str(tmp_path)}
        return subprocess.run(
            ["sh", "-c", command, "sh", sys.executable, "-c", PROGRAM, *options],
            check=False, cwd=tmp_path, env=environment, capture_output=True, timeout=120,
        )  # fmt: skip

    return run


def test_characters_that_the_encoding_lacks_are_escaped(shell):
    run = shell("", encoding="ascii")
    assert (run.returncode, run.stdout) == (0, b"\\xe4\\udcff\n"), run.stderr
    assert b"print('\\xe4')" in run.stderr


def test_json_holds_any_character(shell):
    run = shell("", "--json")
    assert (run.returncode, json.loads(run.stdout)) == (0, {"answer": "ä\udcff"}), run.stderr


def test_an_answer_that_cannot_be_written_is_no_answer(shell):
    run = shell(">/dev/full")
    assert run.returncode == 1
    assert b"could not be written" in run.stderr and b"Traceback" not in run.stderr


@pytest.mark.parametrize(("redirection", "written"), [("<&- 2>&-", b"\xc3\xa4\\udcff\n"), (">&-", b"")])
def test_closed_streams_are_done_without(shell, redirection, written):
    run = shell(redirection)
    assert (run.returncode, run.stdout) == (0, written)
    assert b"Traceback" not in run.stderr and b"rror" not in run.stderr
