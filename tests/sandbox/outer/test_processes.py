"""Nothing outlives a session or its host."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dspy_rlm.sandbox.interpreter import RestrictedInterpreter
from dspy_rlm.sandbox.launch import zygote_for

_HOST = """
import sys
from dspy_rlm.sandbox.interpreter import RestrictedInterpreter
session = RestrictedInterpreter()
session.start()
session.bind({"ready": lambda: print(session._session.zygote._process.pid, flush=True)})
session.run_cell("ready()\\nwhile True: pass")
"""


def eventually(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if condition():
            return True
        os.sched_yield()
    return False


def test_a_session_that_is_shut_down_leaves_no_process(processes):
    zygote = zygote_for(())._process.pid
    before = len(processes(zygote))
    sessions = [RestrictedInterpreter() for _ in range(3)]
    for session in sessions:
        session.run_cell("1")
        assert len(processes(zygote)) > before
    for session in sessions:
        session.shutdown()
        session.shutdown()
    assert eventually(lambda: len(processes(zygote)) <= before)


def test_a_session_that_is_dropped_leaves_no_process_and_no_descriptor(processes):
    zygote = zygote_for(())._process.pid
    before = len(processes(zygote)), len(list(Path("/proc/self/fd").iterdir()))
    session = RestrictedInterpreter()
    session.run_cell("1")
    del session
    assert eventually(lambda: (len(processes(zygote)), len(list(Path("/proc/self/fd").iterdir()))) <= before)


@pytest.mark.parametrize("victim", ["host", "host and zygote"])
def test_a_host_that_is_killed_leaves_no_process(victim, processes):
    host = subprocess.Popen([sys.executable, "-c", _HOST], stdout=subprocess.PIPE, text=True)
    zygote = int(host.stdout.readline())
    assert len(processes(zygote)) >= 3
    if victim == "host and zygote":
        os.kill(zygote, signal.SIGKILL)
    host.kill()
    host.wait()
    host.stdout.close()
    assert eventually(lambda: not processes(zygote))


def test_a_zygote_that_died_is_started_anew():
    zygote = zygote_for(())
    os.kill(zygote._process.pid, signal.SIGKILL)
    zygote._process.wait()
    with RestrictedInterpreter() as session:
        assert session.execute("1 + 1") == "2"


def test_a_fork_of_the_host_has_its_own_zygote():
    program = (
        "import os\nfrom dspy_rlm.sandbox.interpreter import RestrictedInterpreter\n"
        "mine = RestrictedInterpreter()\nmine.run_cell('x = 1')\nchild = os.fork()\n"
        "theirs = RestrictedInterpreter()\nprint(theirs.execute('6 * 7'), flush=True)\ntheirs.shutdown()\n"
        "if child:\n    os.waitpid(child, 0)\n    print(mine.execute('x'))\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["42", "42", "1"] and done.stderr == ""
