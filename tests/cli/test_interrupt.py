"""Ctrl-C on the real command in a process of its own, with a model that never answers its second call."""

import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds child processes in /proc")

PROGRAM = """
import signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job, as a test run may be, ignores it
import dspy_rlm.cli.ask
from dspy_rlm.cli import main
from dspy_rlm.testing import ScriptedLM

def never(messages):
    threading.Event().wait()

replies = ["Look.\\n```python\\nprint('seen so far')\\n```", {second}]
dspy_rlm.cli.ask.make_lm = lambda choice: ScriptedLM(replies)
sys.argv = ["dspy-rlm", "ask", "Q?", "-", "--model", "test/lm"]
main()
"""
BUSY_CELL = '"Spin.\\n```python\\nwhile True: pass\\n```"'
BATCH = "\"Ask.\\n```python\\nllm_query_batched(list('abc'))\\n```\", never, never, never"


@contextlib.contextmanager
def command(second: str) -> Iterator[subprocess.Popen[str]]:
    arguments = [sys.executable, "-c", PROGRAM.format(second=second)]
    pipe = subprocess.PIPE
    with subprocess.Popen(arguments, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdin is not None
        process.stdin.write("text")
        process.stdin.close()
        try:
            yield process
        finally:
            process.kill()


def descendants(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # threads and processes may end meanwhile
        for task in Path(f"/proc/{pid}/task").iterdir():
            children = [int(child) for child in (task / "children").read_text().split()]
            found += [*children, *(other for child in children for other in descendants(child))]
    return found


def watch(pids: Iterable[int]) -> list[int]:
    watched = []
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # ended already
            watched.append(os.pidfd_open(pid))
    return watched


def read_until(stream: Iterator[str], line: str) -> None:
    seen = []
    for text in stream:
        seen.append(text)
        if text.strip().startswith(line):
            return
    pytest.fail(f"the command ended before it said {line!r}: {''.join(seen)}")


def has_ended(pidfd: int) -> bool:
    return bool(select.select([pidfd], [], [], 10)[0])


@pytest.mark.parametrize(
    ("second", "ready"),
    [
        pytest.param("never", "(", id="in a model call"),
        pytest.param(BUSY_CELL, "while True", id="in a cell"),
        pytest.param(BATCH, "llm_query: 3 calls", id="in sub-queries"),
    ],
)
def test_ctrl_c_ends_everything_and_shows_what_was_found(second: str, ready: str) -> None:
    with command(second) as process:
        assert process.stderr is not None and process.stdout is not None
        read_until(process.stderr, ready)
        children = watch(descendants(process.pid))
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 130
        assert all(has_ended(child) for child in children)
        assert process.stderr.read().endswith("The last output was:\nseen so far\n")
        assert process.stdout.read() == ""
