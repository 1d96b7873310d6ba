"""A session from the host's side: its sockets, what is bound in it, and the order in which it ends."""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import select
import socket
import struct
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from dspy_rlm.errors import SandboxError, UsageError

from . import wire
from .connection import Connection, ConnectionLostError
from .launch import Zygote, lost, worker_ends
from .transport import Packer

_REPLY_TIMEOUT = 600.0  # seconds for making the inputs in the worker; gigabytes take some
_SEND_TIMEOUT = 30  # seconds; a worker that does not read for so long is broken
_numbers = itertools.count(1)


class HostSession:
    """A started session; any thread may close it.

    Args:
        zygote: Forks it.
        config: What the worker is told: `max_output_chars`, `extra_modules`, `memory_limit`.

    Raises:
        SandboxError: The session cannot be started.

    Attributes:
        functions: The host functions that cells may call, by name.
        waker: A descriptor that becomes readable when something has changed for whoever waits on the session.
    """

    def __init__(self, zygote: Zygote, config: dict[str, Any]) -> None:
        self.functions: dict[str, Callable[..., Any]] = {}
        self.zygote = zygote
        self.number = next(_numbers)
        self.waker = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._extra_modules = config["extra_modules"]
        self._busy = threading.Lock()
        self._sending = threading.Lock()
        self._closing = threading.Lock()
        self.closed = False
        try:
            with worker_ends(socket.SOCK_STREAM, socket.SOCK_SEQPACKET) as (ours, theirs):
                zygote.order("fork", self.number, config, fds=theirs)
        except OSError as error:
            os.close(self.waker)
            raise lost(error) from error
        self.connection = Connection(ours[0])
        _limit_sending(self.connection.sock)
        self.control = ours[1]
        # Of a session that nobody closed, the sockets' end is the end.
        self._finalizer = weakref.finalize(self, _close_all, ours, self.waker)
        self._expect("ready")

    @contextlib.contextmanager
    def exclusive(self) -> Any:
        """Use the session; at its end the sockets are closed, should someone have closed the session meanwhile.

        Raises:
            UsageError: Another thread uses it.
            SandboxError: The session is closed.
        """
        if not self._busy.acquire(blocking=False):
            raise UsageError("this interpreter runs a cell already: use one interpreter for each thread")
        try:
            if self.closed:
                raise lost("it was shut down")
            yield
        finally:
            with self._closing:
                self._busy.release()
                if self.closed:
                    self._finalizer()

    def bind(self, values: Mapping[str, Any]) -> None:
        """Make values and host functions variables of the session.

        Raises:
            TypeError: A value cannot go into the sandbox.
            SandboxError: The session is over.
        """
        functions = {name: value for name, value in values.items() if callable(value)}
        packer = Packer(dict, self._extra_modules)
        with self.exclusive():
            try:
                packed = []
                for name, value in values.items():
                    if name not in functions:
                        packed.append((name, _pack(packer, name, value)))
                self.send(("bind", packed, list(functions)), packer)
            finally:
                packer.close()
            self.functions.update(functions)
            self._expect("bound")

    def unbind(self, names: list[str]) -> None:
        """Remove variables from the session."""
        for name in names:
            self.functions.pop(name, None)
        with self.exclusive():
            self.send(("unbind", names))

    def send(self, message: tuple[Any, ...], packer: Packer | None = None, to: Connection | None = None) -> None:
        """Send a request, or the answer to a call; any thread may.

        Args:
            message: The request or answer.
            packer: Holds the descriptors that go with it.
            to: The connection that the call came over, which a rollback replaces.

        Raises:
            SandboxError: The session is over.
        """
        try:
            with self._sending:
                (to or self.connection).send(pickle.dumps(message, 5), packer.fds if packer else ())
        except ConnectionLostError as error:
            if to is None or to is self.connection:
                raise lost(error) from error

    def wake(self) -> None:
        """Have whoever waits on the session look again."""
        with contextlib.suppress(OSError):
            os.eventfd_write(self.waker, 1)

    def renew(self) -> None:
        """Replace the stream after a rollback, since half a frame may be on the old one."""
        with worker_ends(socket.SOCK_STREAM) as (ours, theirs):
            socket.send_fds(self.control, [b"renew"], theirs)
        with self._sending:
            self.connection.close()
            self.connection = Connection(ours[0])
            _limit_sending(self.connection.sock)
        self._finalizer.detach()
        self._finalizer = weakref.finalize(self, _close_all, [ours[0], self.control], self.waker)

    def close(self) -> None:
        """End the session and all of its processes; whoever waits on it is told."""
        with self._closing:
            if self.closed:
                return
            self.closed = True
            with contextlib.suppress(OSError):  # a zygote that is gone has taken its sessions along
                self.zygote.order("end", self.number)
            self.wake()
            if not self._busy.locked():
                self._finalizer()

    def _expect(self, key: str) -> None:
        """Wait for a report that holds `key`."""
        try:
            message = wire.decode(self._await_frame())
        except (ConnectionLostError, ValueError) as error:
            self.close()
            raise lost(error) from error
        if "failed" in message:
            raise TypeError(f"the values cannot be made in the sandbox: {message['failed']}")
        if key not in message:
            self.close()
            raise SandboxError(f"the worker was to report {key!r}, it sent {list(message)}")

    def _await_frame(self) -> bytes:
        deadline = time.monotonic() + _REPLY_TIMEOUT
        poller = select.poll()
        poller.register(self.connection, select.POLLIN)
        poller.register(self.waker, select.POLLIN)
        while (frame := self.connection.next_frame()) is None:
            if not poller.poll(max(0.0, deadline - time.monotonic()) * 1000):
                raise ConnectionLostError(f"no answer within {_REPLY_TIMEOUT:g} s")
            if self.closed:
                raise ConnectionLostError("it was shut down")
            self.connection.fill()
        return frame


def _limit_sending(sock: socket.socket) -> None:
    # By the kernel, since a timeout of Python's own costs a system call more for each message.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", _SEND_TIMEOUT, 0))


def _pack(packer: Packer, name: str, value: Any) -> Any:
    try:
        return packer.pack(value)
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from error


def _close_all(sockets: list[socket.socket], waker: int) -> None:
    for sock in sockets:
        sock.close()
    with contextlib.suppress(OSError):
        os.close(waker)
