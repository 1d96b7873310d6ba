"""The host's side of zygotes: one for each host process and set of extra modules, started when first needed."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import json
import os
import pickle
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import RestrictedPython

from dspy_rlm.errors import SandboxUnavailableError

_START_SECONDS = 30  # a cold disk may take seconds to read the standard library
_SHOWN_ERROR = 2000  # characters of what a zygote said before it died
_BOOT = (
    "import sys, json; fd, paths, extra = json.loads(sys.argv[1]); sys.path[:0] = paths; "
    "from dspy_rlm.sandbox.zygote import main; main(fd, extra)"
)
# Nothing of the host's environment; huge pages, where the kernel gives them on request, make forks of large sessions fast.
_ENVIRONMENT = {"LC_ALL": "C.UTF-8", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


class Zygote:
    """A running zygote.

    Args:
        extra_modules: Modules that cells may import besides those they always may.

    Attributes:
        missing_walls: Parts of the outer wall that this system cannot put up, in words.

    Raises:
        SandboxUnavailableError: It did not start.
    """

    def __init__(self, extra_modules: Sequence[str]) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._errors = os.memfd_create("zygote-errors", os.MFD_CLOEXEC)
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            arguments = json.dumps([theirs.fileno(), _import_paths(), list(extra_modules)])
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-X", "utf8", "-c", _BOOT, arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                pass_fds=[theirs.fileno()],
                env=_ENVIRONMENT,
                cwd="/",
                # Ctrl-C on the terminal is for the host, which then ends what has to end.
                start_new_session=True,
            )
        self.missing_walls: tuple[str, ...] = tuple(self._greeting()["missing_walls"])

    def is_alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def fork(self, data: socket.socket, control: socket.socket, config: dict[str, Any]) -> int:
        """Start a session at the other ends of two sockets.

        Args:
            data: A stream for requests, calls and outcomes.
            control: Packets about a running cell.
            config: What the session's worker takes.

        Returns:
            The session's number, for `kill` and `end`.
        """
        number = next(self._numbers)
        self._order(("fork", number, config), [data.fileno(), control.fileno()])
        return number

    def kill(self, session: int, process: int) -> None:
        """Kill one process of a session."""
        self._order(("kill", session, process))

    def end(self, session: int) -> None:
        """Kill a session."""
        with contextlib.suppress(SandboxUnavailableError):  # then its sessions are gone with it
            self._order(("end", session))

    def close(self) -> None:
        """End it and all its sessions."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        self.forget()

    def forget(self) -> None:
        """Close what this process holds of it: it belongs to another process, or is dead."""
        self._socket.close()
        if self._errors >= 0:
            os.close(self._errors)
            self._errors = -1

    def _order(self, order: tuple[Any, ...], fds: Sequence[int] = ()) -> None:
        with self._lock:
            try:
                socket.send_fds(self._socket, [pickle.dumps(order)], fds)
            except OSError as error:
                raise SandboxUnavailableError(f"the sandbox's zygote is gone: {error}") from error

    def _greeting(self) -> dict[str, Any]:
        self._socket.settimeout(_START_SECONDS)
        try:
            greeting = self._socket.recv(1 << 16)
        except OSError as error:
            greeting = b""
            cause = f"it did not answer in {_START_SECONDS} seconds ({error})"
        else:
            cause = "it ended"
        if not greeting:
            said = os.pread(self._errors, 1 << 16, 0).decode("utf-8", "replace").strip()[-_SHOWN_ERROR:]
            self._process.kill()
            self._process.wait()
            self.forget()
            raise SandboxUnavailableError(f"the sandbox's zygote did not start: {cause}" + (f": {said}" if said else ""))
        self._socket.settimeout(None)
        found: dict[str, Any] = json.loads(greeting)
        return found


_zygotes: dict[tuple[str, ...], Zygote] = {}
_lock = threading.Lock()


def zygote_for(extra_modules: Sequence[str], *, require_isolation: bool) -> Zygote:
    """The zygote that forks sessions with these extra modules, started when there is none.

    Args:
        extra_modules: Modules that cells may import besides those they always may.
        require_isolation: Refuse when a part of the outer wall is missing; else a warning says so, once.

    Raises:
        SandboxUnavailableError: This system cannot run the sandbox, or not with all its walls where they are required.
    """
    if not sys.platform.startswith("linux"):
        raise SandboxUnavailableError(
            f"the sandbox needs Linux, this is {sys.platform}: pass interpreter_factory=dspy.PythonInterpreter "
            "(needs Deno), or run in a Linux container"
        )
    key = tuple(extra_modules)
    with _lock:
        zygote = _zygotes.get(key)
        if zygote is None or not zygote.is_alive():
            if zygote is not None:
                zygote.forget()
            zygote = _zygotes[key] = Zygote(key)
            if zygote.missing_walls and not require_isolation:
                warnings.warn(f"the sandbox runs without {', '.join(zygote.missing_walls)}", RuntimeWarning, stacklevel=2)
    if zygote.missing_walls and require_isolation:
        raise SandboxUnavailableError(
            f"isolation is required, and this system lacks {', '.join(zygote.missing_walls)}: allow it there, or pass "
            "require_isolation=False"
        )
    return zygote


def _import_paths() -> list[str]:
    """Where the zygote finds this package and what it needs: `-I` gives it the standard library and site-packages only."""
    places = [Path(__file__).parents[2], Path(RestrictedPython.__file__).parents[1]]
    return list(dict.fromkeys(str(place.resolve()) for place in places))


def _close_all() -> None:
    with _lock:
        while _zygotes:
            _zygotes.popitem()[1].close()


def _forget_all() -> None:
    # In a forked child: the zygotes serve the parent.
    global _lock
    _lock = threading.Lock()
    while _zygotes:
        _zygotes.popitem()[1].forget()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
