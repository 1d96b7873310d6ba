"""The outer wall alone: plain Python in a sealed process, with no inner wall before it."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from dspy_rlm.sandbox import isolation
from dspy_rlm.sandbox.isolation_filter import build_filter

_PROGRAM = """
import asyncio, ctypes, io, mmap, os, resource, signal, socket, threading
from dspy_rlm.sandbox import isolation
kernel = ctypes.CDLL(None, use_errno=True)
parent = os.getppid()
isolation.seal(2**30)
try:
    {code}
except BaseException as error:
    os.write(1, type(error).__name__.encode())
else:
    os.write(1, b"went through")
os._exit(0)
"""
pytestmark = pytest.mark.skipif(bool(isolation.missing_walls()), reason="this system lacks the system-call filter")


def sealed(code: str) -> str:
    """What a sealed process says of running some code: the error's name, or that it went through."""
    program = _PROGRAM.format(code=textwrap.indent(code, "    ").strip())
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    return done.stdout or f"died: {done.returncode} {done.stderr}"


@pytest.mark.parametrize(
    "code",
    [
        "open('/etc/passwd')",
        "open('/tmp/x', 'w')",
        "os.stat('/etc/passwd')",
        "os.listdir('/')",
        "os.unlink('/tmp/x')",
        "os.mkdir('/tmp/x')",
        "os.chdir('/tmp')",
        "os.execv('/bin/true', ['true'])",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "socket.socket()",
        "socket.socket(socket.AF_UNIX)",
        "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
        "os.kill(parent, signal.SIGTERM)",
        "os.kill(parent, 0)",
        "os.kill(-1, signal.SIGKILL)",
        "os.pidfd_open(parent)",
        "os.setsid()",
        "os.setpgid(0, 0)",
        "os.memfd_create('x')",
        "resource.setrlimit(resource.RLIMIT_NOFILE, (10, 10))",
        "assert kernel.ptrace(16, parent, 0, 0) == 0",
        "assert kernel.unshare(0x10000000) == 0",
        "assert kernel.process_vm_readv(parent, 0, 0, 0, 0, 0) == 0",
        "x = bytearray(2**31)",
    ],
)
def test_a_sealed_process_reaches_nothing(code):
    assert sealed(code) in ("PermissionError", "AssertionError", "MemoryError", "ValueError")


@pytest.mark.parametrize(
    "code",
    [
        "thread = threading.Thread(target=len, args=('',)); thread.start(); thread.join()",
        "async def f():\n    await asyncio.sleep(0)\nasyncio.run(f())",
        "child = os.fork()\nif not child:\n    os._exit(0)\nos.waitpid(child, 0)",
        "a, b = socket.socketpair(); a.sendall(b'x'); assert b.recv(1) == b'x'",
        "import time; time.sleep(0.001); time.localtime(); os.urandom(8)",
        "x = bytearray(2**28)",
    ],
)
def test_a_sealed_process_can_do_its_work(code):
    assert sealed(code) == "went through"


def test_other_architectures_have_no_filter_and_say_so():
    assert build_filter("riscv64") is None
    assert build_filter("aarch64") != build_filter("x86_64")
