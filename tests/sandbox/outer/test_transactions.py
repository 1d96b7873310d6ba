"""Cells are transactions: one that does not end by itself leaves no trace."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from dspy_rlm import SandboxError, UsageError
from dspy_rlm.sandbox.interpreter import RestrictedInterpreter
from dspy_rlm.sandbox.outcomes import Failed, Ran, Refused, RolledBack


def test_variables_persist_from_cell_to_cell(session, shown):
    session.run_cell("x = [1]\ndef f(n): return n + len(x)")
    session.run_cell("x.append(2)")
    assert shown(session, "f(1)") == "3"


def test_a_cell_past_its_time_is_rolled_back(shown):
    with RestrictedInterpreter(cell_timeout=0.3) as session:
        session.run_cell("x = 'kept'")
        assert session.run_cell("x = 'lost'\nwhile True: pass") == RolledBack("time", 0.3)
        assert shown(session, "x") == "'kept'"


def test_a_cell_that_hides_exceptions_is_stopped_all_the_same():
    with RestrictedInterpreter(cell_timeout=0.3) as session:
        code = "while True:\n    try:\n        while True: pass\n    except BaseException:\n        pass"
        assert session.run_cell(code) == RolledBack("time", 0.3)


def test_a_cell_past_its_memory_is_rolled_back(shown):
    limit = 200 * 2**20
    with RestrictedInterpreter(memory_limit=limit) as session:
        session.run_cell("x = 'kept'")
        assert session.run_cell("x = 'lost'\ny = 'z' * 10**9") == RolledBack("memory", limit)
        assert shown(session, "x") == "'kept'"


def test_a_cell_may_catch_its_own_memory_error(shown):
    with RestrictedInterpreter(memory_limit=200 * 2**20) as session:
        session.run_cell("try:\n    y = 'z' * 10**9\nexcept MemoryError:\n    y = 'caught'")
        assert shown(session, "y") == "'caught'"


def test_inputs_do_not_count_towards_the_memory_limit(shown):
    with RestrictedInterpreter(memory_limit=100 * 2**20) as session:
        session.bind({"text": "x" * (200 * 2**20)})
        assert shown(session, "len(text)") == str(200 * 2**20)


def test_a_cell_that_is_killed_is_rolled_back_and_the_signal_named(session, shown, processes):
    def kill_cell():
        # Of the session's two processes it is the one that is nobody's parent; other tests' sessions are over by now.
        found = processes(session._session.zygote._process.pid)
        os.kill(max(process for process in found if process not in found.values()), signal.SIGSEGV)

    session.run_cell("x = 'kept'")
    session.bind({"kill_cell": kill_cell})
    assert session.run_cell("x = 'lost'\nkill_cell()\nwhile True: pass") == RolledBack("crash", 0, "SIGSEGV")
    assert shown(session, "x") == "'kept'"


def test_a_failed_cell_keeps_what_it_did_before(session, shown):
    outcome = session.run_cell("x = 1\n1 / 0")
    assert isinstance(outcome, Failed) and outcome.error.kind == "ZeroDivisionError" and outcome.error.line == 2
    assert shown(session, "x") == "1"


def test_a_refused_cell_is_not_run(session):
    outcome = session.run_cell("x = 1\nimport os")
    assert isinstance(outcome, Refused) and outcome.refusals[0].line == 2
    assert isinstance(session.run_cell("x"), Failed)


def test_the_hosts_own_time_does_not_count(shown):
    with RestrictedInterpreter(cell_timeout=0.3) as session:
        session.bind({"slow": threading.Event().wait})
        assert shown(session, "slow(0.5)") == "False"


def test_shutting_down_from_another_thread_ends_a_running_cell(session):
    began = threading.Event()
    session.bind({"began": began.set})
    thread = threading.Thread(target=lambda: began.wait() and session.shutdown())
    thread.start()
    with pytest.raises(SandboxError, match="shut down while a cell ran"):
        session.run_cell("began()\nwhile True: pass")
    thread.join()
    with pytest.raises(SandboxError, match="make a new one"):
        session.run_cell("1")


def test_a_host_interrupt_rolls_the_cell_back_and_reaches_the_caller(session, shown):
    def interrupt():
        raise KeyboardInterrupt

    session.run_cell("x = 'kept'")
    session.bind({"interrupt": interrupt})
    with pytest.raises(KeyboardInterrupt):
        session.run_cell("x = 'lost'\ninterrupt()")
    assert shown(session, "x") == "'kept'"


def test_a_second_cell_at_the_same_time_is_the_callers_mistake(session):
    session.bind({"again": lambda: session.run_cell("1")})
    outcome = session.run_cell("again()")
    assert isinstance(outcome, Failed) and outcome.error.kind == UsageError.__name__


def test_sessions_in_many_threads_do_not_meet():
    results = []

    def work(number):
        with RestrictedInterpreter() as session:
            cells = [session.run_cell(f"x = {number} * {i}\nx") for i in range(5)]
            results.append([cell.value.head for cell in cells] == [str(number * i) for i in range(5)])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 8


def test_a_session_survives_many_rollbacks(shown):
    with RestrictedInterpreter(memory_limit=100 * 2**20) as session:
        session.run_cell("n = 0")
        for i in range(5):
            assert isinstance(session.run_cell("n = 99\ny = 'z' * 10**9"), RolledBack)
            assert isinstance(session.run_cell("n += 1"), Ran)
            assert shown(session, "n") == str(i + 1)
