"""The system calls that a sealed worker may make, as a seccomp filter: everything else fails with EPERM.

No file can be opened, no socket made but a pair, nothing executed, no process signalled. The numbers are the kernel's,
for x86_64 and aarch64.
"""

from __future__ import annotations

import socket
import struct
from typing import NamedTuple

# The answers of a filter, in the order of their numbers in <linux/seccomp.h>.
_KILL, _ERRNO, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
_EPERM, _ENOSYS = 1, 38

# Instructions of classic BPF, and where seccomp's data lie.
_LOAD, _AND, _JUMP_EQUAL, _RETURN = 0x20, 0x54, 0x15, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16

_NAMESPACES = 0x7E020000  # every CLONE_NEW* flag of clone()
_PR_SET_PDEATHSIG = 1
_FIONBIO, _FIONCLEX, _FIOCLEX = 0x5421, 0x5450, 0x5451


class _Condition(NamedTuple):
    """Holds when the low half of an argument, masked, is one of `values`; the high half must be zero where asked."""

    argument: int
    values: tuple[int, ...]
    mask: int = 0xFFFFFFFF
    whole: bool = False


# Number on x86_64 and on aarch64; None where the architecture lacks the call. The most frequent come first.
_ALLOWED: dict[str, tuple[int | None, int | None]] = {
    "read": (0, 63), "write": (1, 64), "recvmsg": (47, 212), "sendmsg": (46, 211), "recvfrom": (45, 207),
    "futex": (202, 98), "poll": (7, None), "ppoll": (271, 73), "mmap": (9, 222), "munmap": (11, 215), "brk": (12, 214),
    "mremap": (25, 216), "madvise": (28, 233), "mprotect": (10, 226), "close": (3, 57), "clock_gettime": (228, 113),
    "gettimeofday": (96, 169), "time": (201, None), "clock_getres": (229, 114), "times": (100, 153),
    "clock_nanosleep": (230, 115), "nanosleep": (35, 101), "getrandom": (318, 278), "fstat": (5, 80), "lseek": (8, 62),
    "readv": (19, 65), "writev": (20, 66), "pread64": (17, 67), "pwrite64": (18, 68), "preadv": (295, 69), "preadv2": (327, 286),
    "select": (23, None), "pselect6": (270, 72), "epoll_create1": (291, 20), "epoll_create": (213, None),
    "epoll_ctl": (233, 21), "epoll_wait": (232, None), "epoll_pwait": (281, 22), "eventfd2": (290, 19),
    "pipe2": (293, 59), "pipe": (22, None), "dup": (32, 23), "dup2": (33, None), "dup3": (292, 24), "fcntl": (72, 25),
    "shutdown": (48, 210), "getsockopt": (55, 209), "setsockopt": (54, 208), "getsockname": (51, 204),
    "fork": (57, None), "wait4": (61, 260), "waitid": (247, 95), "exit": (60, 93), "exit_group": (231, 94),
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "sigaltstack": (131, 132),
    "restart_syscall": (219, 128), "sched_yield": (24, 124), "sched_getaffinity": (204, 123), "getcpu": (309, 168),
    "set_robust_list": (273, 99), "rseq": (334, 293), "membarrier": (324, 283), "getpid": (39, 172),
    "gettid": (186, 178), "getppid": (110, 173), "getuid": (102, 174), "geteuid": (107, 175), "getgid": (104, 176),
    "getegid": (108, 177), "getrusage": (98, 165), "uname": (63, 160),
}  # fmt: skip

_ALLOWED_IF: dict[str, tuple[tuple[int, int], tuple[_Condition, ...]]] = {
    # Threads and forks, which transactions need; no namespaces.
    "clone": ((56, 220), (_Condition(0, (0,), _NAMESPACES),)),
    # To a connected stream only: with an address, a datagram could reach other programs' sockets.
    "sendto": ((44, 206), (_Condition(4, (0,), whole=True),)),
    "socketpair": ((53, 199), (_Condition(0, (socket.AF_UNIX,)), _Condition(1, (socket.SOCK_STREAM,), 0xF))),
    "ioctl": ((16, 29), (_Condition(1, (_FIONBIO, _FIOCLEX, _FIONCLEX)),)),
    "prctl": ((157, 167), (_Condition(0, (_PR_SET_PDEATHSIG,)),)),
    # Reading limits, which starting a thread does; not setting them.
    "prlimit64": ((302, 261), (_Condition(2, (0,), whole=True),)),
}

# Its flags lie in memory, where no filter can look; told that it is missing, the C library uses clone().
_CLONE3 = 435

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}


def build_filter(machine: str) -> bytes | None:
    """Build the filter.

    Args:
        machine: The kernel's name of the architecture, as `os.uname().machine` gives it.

    Returns:
        The filter's instructions, or None for an architecture whose numbers are not known here.
    """
    if machine not in _MACHINES:
        return None
    column, architecture = _MACHINES[machine]
    code = [
        _instruction(_LOAD, _ARCHITECTURE),
        _instruction(_JUMP_EQUAL, architecture, 1, 0),
        _instruction(_RETURN, _KILL),
        _instruction(_LOAD, _NUMBER),
    ]
    for numbers in _ALLOWED.values():
        number = numbers[column]
        if number is not None:
            code += [_instruction(_JUMP_EQUAL, number, 0, 1), _instruction(_RETURN, _ALLOW)]
    for pair, conditions in _ALLOWED_IF.values():
        checks = [step for condition in conditions for step in _checks(condition)]
        checks.append(_instruction(_RETURN, _ALLOW))
        code += [_instruction(_JUMP_EQUAL, pair[column], 0, len(checks)), *checks]
    code += [_instruction(_JUMP_EQUAL, _CLONE3, 0, 1), _instruction(_RETURN, _ERRNO | _ENOSYS)]
    code.append(_instruction(_RETURN, _ERRNO | _EPERM))
    return b"".join(code)


def _checks(condition: _Condition) -> list[bytes]:
    """Instructions that go on when the condition holds, and refuse when not."""
    offset = _ARGUMENTS + 8 * condition.argument
    code = [_instruction(_LOAD, offset), _instruction(_AND, condition.mask)]
    for left, value in enumerate(reversed(condition.values)):
        code.insert(2, _instruction(_JUMP_EQUAL, value, left + 1, 0))
    code.append(_instruction(_RETURN, _ERRNO | _EPERM))
    if condition.whole:
        high = [_instruction(_LOAD, offset + 4), _instruction(_JUMP_EQUAL, 0, 1, 0)]
        code += [*high, _instruction(_RETURN, _ERRNO | _EPERM)]
    return code


def _instruction(operation: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", operation, if_true, if_false, value)
