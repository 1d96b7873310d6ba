"""The zygote: one process with everything imported, single-threaded, that forks a session in a millisecond."""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pickle
import signal
import socket
import traceback
from collections.abc import Sequence
from types import FrameType
from typing import Any, Never

from . import isolation
from .cells import preload
from .worker import Worker

_MAX_MESSAGE = 1 << 16


def main(fd: int, extra_modules: Sequence[str]) -> Never:
    """Serve the host at the other end of `fd` until it is gone; then end every session.

    Args:
        fd: A SEQPACKET socket. It is told once what is missing of the outer wall, and then gives orders.
        extra_modules: Modules to import besides those that cells always have.
    """
    host = socket.socket(fileno=fd)
    isolation.adopt_orphans()
    isolation.be_killed_first()
    preload()
    for name in extra_modules:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, _reap)
    host.send(json.dumps({"missing_walls": isolation.missing_walls()}).encode())
    gc.collect()
    gc.freeze()  # else the first collection of every session would write to, and so copy, all of these pages
    sessions: dict[int, int] = {}
    while True:
        data, fds, _, _ = socket.recv_fds(host, _MAX_MESSAGE, 2)
        if not data:
            for leader in sessions.values():
                _kill(leader)
            os._exit(0)
        order, *content = pickle.loads(data)  # noqa: S301  # the host is trusted
        if order == "fork":
            sessions[content[0]] = _fork(fds, content[1])
        elif order == "end":
            _kill(sessions.pop(content[0], 0))
        elif order == "kill":
            _kill_member(sessions.get(content[0], 0), content[1])


def _reap(_signal: int, _frame: FrameType | None) -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _fork(fds: Sequence[int], config: dict[str, Any]) -> int:
    """Fork a session, and return its process, which leads a group of that number; 0 when there is no fork to be had."""
    try:
        child = os.fork()
    except OSError:
        child = 0  # the host sees that the session's sockets were closed
    else:
        if child == 0:
            _become_session(fds, config)
        with contextlib.suppress(OSError):
            os.setpgid(child, child)  # on both sides, so that it holds at once
    for fd in fds:
        os.close(fd)
    return child


def _become_session(fds: Sequence[int], config: dict[str, Any]) -> Never:
    try:
        os.setpgid(0, 0)
        isolation.die_with_parent()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        isolation.close_other_descriptors(fds)
        data, control = (socket.socket(fileno=fd) for fd in fds)
        Worker(data, control, config).serve()
    except BaseException:
        # To the standard error stream, which leads nowhere unless someone looks for a fault in the worker itself.
        traceback.print_exc()
    finally:
        os._exit(1)


def _kill(leader: int) -> None:
    """Kill a session: all of its group, as long as a child of ours is in it, which keeps the number from being reused."""
    if not leader:
        return
    with contextlib.suppress(ChildProcessError, ProcessLookupError):
        os.waitid(os.P_PGID, leader, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        os.killpg(leader, signal.SIGKILL)


def _kill_member(leader: int, process: int) -> None:
    """Kill one process of a session; the session named it, so it is looked at first."""
    with contextlib.suppress(ProcessLookupError):
        if leader and os.getpgid(process) == leader:
            os.kill(process, signal.SIGKILL)
