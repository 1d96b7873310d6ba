"""The outer wall: what a worker does to itself before it runs the first cell."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import resource
import signal
from collections.abc import Sequence
from pathlib import Path

from .isolation_filter import build_filter

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP = 1, 4, 22
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
_SECCOMP_MODE_FILTER = 2
_MAX_DESCRIPTORS = 256


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]


_prctl = ctypes.CDLL(None, use_errno=True).prctl
_FILTER = build_filter(os.uname().machine)


def die_with_parent(whether: bool = True) -> None:
    """Have this process killed when its parent ends, or no longer."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL if whether else 0, 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def be_killed_first() -> None:
    """Have the system, when it runs out of memory, kill this process and its descendants before others."""
    with contextlib.suppress(OSError):  # a matter of courtesy, which some containers do not let us show
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def close_other_descriptors(kept: Sequence[int]) -> None:
    """Close every descriptor but the standard streams and `kept`."""
    last = 2
    for fd in sorted(kept):
        os.closerange(last + 1, fd)
        last = fd
    os.closerange(last + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def seal(memory_limit: int) -> None:
    """Put up the wall for good: resource limits, no new privileges, and the system-call filter.

    Args:
        memory_limit: Bytes of address space above what the process has now.

    Raises:
        OSError: A part of the wall that `missing_walls` did not name could not be put up.
    """
    _limit(resource.RLIMIT_AS, _address_space() + memory_limit)
    _limit(resource.RLIMIT_NOFILE, _MAX_DESCRIPTORS)
    for kind in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE):
        _limit(kind, 0)
    _prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    if _prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "the kernel refuses no_new_privs")
    if not missing_walls():
        _install_filter()


def _limit(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))


def _address_space() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return pages * resource.getpagesize()


def _install_filter() -> None:
    if _FILTER is None:
        raise OSError(f"no system-call filter is known for {os.uname().machine}")
    program = _Program(len(_FILTER) // 8, _FILTER)
    if _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "the kernel refuses the system-call filter")


@functools.cache
def missing_walls() -> tuple[str, ...]:
    """Name the parts of the wall that this system cannot put up, by trying them in a process of their own."""
    if _FILTER is None:
        return (f"the system-call filter, which is not known for {os.uname().machine}",)
    child = os.fork()
    if child == 0:
        status = 1
        with contextlib.suppress(OSError):
            if not _prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
                _install_filter()
                status = 0
        os._exit(status)
    refused = os.waitpid(child, 0)[1] != 0
    return ("the system-call filter, which this kernel or container refuses",) if refused else ()
