"""Ctrl-C whose signal the system hands to a thread other than the main one."""

from __future__ import annotations

import signal
import threading
from concurrent.futures import Future

import pytest

from dspy_rlm import RestrictedInterpreter
from dspy_rlm.interrupts import wait_for


def _interrupt_from_a_thread() -> None:
    threading.Thread(target=lambda: signal.pthread_kill(threading.get_ident(), signal.SIGINT)).start()


def test_a_wait_for_futures_ends():
    def wait() -> None:
        _interrupt_from_a_thread()
        wait_for([Future()])

    with pytest.raises(KeyboardInterrupt):
        wait()


def test_a_wait_for_a_cell_ends():
    with (
        RestrictedInterpreter({"interrupt": _interrupt_from_a_thread}) as interpreter,
        pytest.raises(KeyboardInterrupt),
    ):
        interpreter.run_cell("interrupt()\nwhile True:\n    pass")
