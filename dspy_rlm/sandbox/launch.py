"""The zygote from the host's side: started at the first need, again when it died or when the host forked."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import pickle
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakSet

from dspy_rlm.errors import SandboxError, SandboxUnavailableError

_BOOT = """
import json, os, sys, traceback
fd, sys.path[:], extra_modules = json.loads(sys.argv[1])
try:
    from dspy_rlm.sandbox.zygote import main
    main(fd, extra_modules)
except BaseException:
    os.write(fd, json.dumps({"error": traceback.format_exc()[-4000:]}).encode())
"""
# Huge pages make a fork beside large values cheap, and one arena keeps threads from reserving address space. Cells run
# in UTC, since the file that names the host's zone is out of their reach.
_ENVIRONMENT = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.arena_max=1", "TZ": "UTC0"}
_START_TIMEOUT = 60.0  # seconds; extra modules may take some to import
_END_TIMEOUT = 2.0  # seconds

_zygotes: dict[tuple[str, ...], Zygote] = {}
_lock = threading.Lock()
_sockets: WeakSet[socket.socket] = WeakSet()
_warned: set[str] = set()


class Zygote:
    """A running zygote.

    Args:
        extra_modules: Modules it imports besides those that cells always have.

    Raises:
        SandboxUnavailableError: It does not start.
    """

    def __init__(self, extra_modules: tuple[str, ...]) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            # The host's own path, so that both import the same; at its end our own parent, for installs by import hook.
            path = [entry for entry in sys.path if entry] + [str(Path(__file__).parents[2])]
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _BOOT, json.dumps([theirs.fileno(), path, extra_modules])],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=_ENVIRONMENT,
                cwd="/",
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        try:
            self.missing_walls = self._hello()
        except BaseException:
            self.end()
            raise

    def _hello(self) -> tuple[str, ...]:
        self._socket.settimeout(_START_TIMEOUT)
        try:
            message = json.loads(self._socket.recv(1 << 16) or b"{}")
        except TimeoutError:
            raise SandboxUnavailableError(f"the sandbox did not start within {_START_TIMEOUT:g} s") from None
        if "missing_walls" not in message:
            why = message.get("error") or "its process ended at once"
            raise SandboxUnavailableError(f"the sandbox cannot start: {why}")
        return tuple(message["missing_walls"])

    def order(self, *order: Any, fds: Sequence[int] = ()) -> None:
        """Give an order; descriptors ride along.

        Raises:
            OSError: The zygote is gone.
        """
        socket.send_fds(self._socket, [pickle.dumps(order)], fds)

    def alive(self) -> bool:
        """Say whether it still runs."""
        return self._process.poll() is None

    def end(self) -> None:
        """End it and all of its sessions."""
        self._socket.close()
        try:
            self._process.wait(_END_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def forget(self) -> None:
        """Let go of it in a fork of the host: it serves the parent."""
        self._socket.close()
        self._process.returncode = 0


def zygote_for(extra_modules: tuple[str, ...]) -> Zygote:
    """Give the zygote that has these modules, started if need be; any thread may ask.

    Raises:
        SandboxUnavailableError: It does not start, or this is not Linux.
    """
    if sys.platform != "linux":
        raise SandboxUnavailableError(
            f"RestrictedInterpreter needs Linux, this is {sys.platform}: pass another interpreter_factory, for example "
            "dspy.PythonInterpreter"
        )
    with _lock:
        zygote = _zygotes.get(extra_modules)
        if zygote is None or not zygote.alive():
            if zygote is not None:
                zygote.end()
            zygote = _zygotes[extra_modules] = Zygote(extra_modules)
            _warn_of(zygote.missing_walls)
        return zygote


def _warn_of(missing_walls: Sequence[str]) -> None:
    for wall in missing_walls:
        if wall not in _warned:
            _warned.add(wall)
            warnings.warn(
                f"the sandbox runs without {wall}; pass require_isolation=True to refuse that",
                RuntimeWarning,
                stacklevel=6,
            )


@contextlib.contextmanager
def worker_ends(*kinds: int) -> Iterator[tuple[list[socket.socket], list[int]]]:
    """Make socket pairs: our ends, to keep, and the descriptors of the worker's ends, open while they are sent."""
    pairs = [socket.socketpair(socket.AF_UNIX, kind) for kind in kinds]
    ours = [mine for mine, _ in pairs]
    _sockets.update(ours)
    try:
        yield ours, [theirs.fileno() for _, theirs in pairs]
    except BaseException:
        for mine in ours:
            mine.close()
        raise
    finally:
        for _, theirs in pairs:
            theirs.close()


def lost(error: object) -> SandboxError:
    """Make the error of a session that is gone."""
    return SandboxError(f"the sandbox session is over: {error}")


def _end_all() -> None:
    with _lock:
        while _zygotes:
            _zygotes.popitem()[1].end()


def _forget_all() -> None:
    global _lock  # noqa: PLW0603  # there is one for the process
    _lock = threading.Lock()  # another thread may have held it in that moment
    for zygote in _zygotes.values():
        zygote.forget()
    _zygotes.clear()
    for sock in list(_sockets):
        sock.close()


atexit.register(_end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
