"""The host's side of a session: it sends requests, answers calls, and keeps the time."""

from __future__ import annotations

import builtins
import contextlib
import contextvars
import json
import os
import pickle
import select
import socket
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from dspy_rlm.errors import SandboxError

from . import outcomes, wire
from .connection import Connection, ConnectionLost
from .launch import Zygote
from .outcomes import CellError, Outcome, Output, Refusal, RolledBack, Submitted
from .transport import Packer
from .values import Record

_READY_SECONDS = 30
_GRACE_SECONDS = 1  # that a cell has to end after its submission was accepted
_ABORT_SECONDS = 10  # until an aborted cell must be gone
_THREADS = 32  # that answer calls which sandbox threads make at the same time
SUBMIT = "SUBMIT"
Functions = Mapping[str, Callable[..., Any]]


class HostSession:
    """One session, started.

    Args:
        zygote: Forks it.
        config: What its worker takes.
        importable: Names of packages, besides the standard library, whose objects it can take.

    Raises:
        SandboxError: It did not start.
    """

    def __init__(self, zygote: Zygote, config: dict[str, Any], importable: tuple[str, ...]) -> None:
        self._zygote = zygote
        self._importable = importable
        self._memory_limit: int = config["memory_limit"]
        data, theirs = socket.socketpair()
        self._control, their_control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._data = Connection(data)
        self._lock = threading.Lock()
        self._closing = False
        self._in_use = False
        with theirs, their_control:
            self._number = zygote.fork(theirs, their_control, config)
        self._wait_for("ready", _READY_SECONDS)

    def bind(self, values: Mapping[str, Any], functions: list[str]) -> None:
        """Make values, and functions by name, variables of the session.

        Raises:
            TypeError: A value cannot go into the sandbox.
            SandboxError: The session is lost.
        """
        packer = Packer(dict, self._importable)
        try:
            packed = []
            for name, value in values.items():
                try:
                    packed.append((name, packer.pack(value)))
                except (TypeError, OSError) as error:
                    raise TypeError(f"{name!r}: {error}") from error
            self._send(("bind", packed, functions), packer.fds)
        finally:
            packer.close()
        answer = self._wait_for("bound", None)
        if "failed" in answer:
            raise TypeError(f"the values cannot be made in the sandbox: {answer['failed']}")

    def unbind(self, names: list[str]) -> None:
        """Remove variables."""
        self._send(("unbind", names))

    def run_cell(self, number: int, source: str, functions: Functions, timeout: float) -> Outcome:
        """Run one cell.

        Args:
            number: The cell's number in the session.
            source: The cell.
            functions: What it may call; `SUBMIT` among them returns the value of an accepted submission.
            timeout: Seconds of sandbox time; the time that functions take is not counted.

        Raises:
            SandboxError: The session is lost, or was shut down meanwhile.
        """
        with self._used():
            try:
                self._data.send(pickle.dumps(("cell", number, source)))
                return _RunningCell(self, number, functions, timeout).outcome()
            except ConnectionLost as error:
                raise self._lost(error) from error

    def close(self) -> None:
        """End the session; any thread may, also while a cell runs."""
        with self._lock:
            if self._closing:
                return
            self._closing = True
            in_use = self._in_use
        self._zygote.end(self._number)
        if in_use:
            with contextlib.suppress(OSError):
                self._data.sock.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits for the cell
        else:
            self._close_sockets()

    @contextlib.contextmanager
    def _used(self) -> Any:
        with self._lock:
            if self._closing:
                raise SandboxError("the session was shut down: start a new one")
            self._in_use = True
        try:
            yield
        except BaseException:
            # Whatever cut in, Ctrl-C for one, leaves a cell that nobody waits for.
            self.close()
            raise
        finally:
            with self._lock:
                self._in_use = False
                closing = self._closing
            if closing:
                self._close_sockets()

    def _close_sockets(self) -> None:
        self._data.close()
        self._control.close()

    def _send(self, request: tuple[Any, ...], fds: list[int] | None = None) -> None:
        with self._used():
            try:
                self._data.send(pickle.dumps(request, 5), fds or ())
            except ConnectionLost as error:
                raise self._lost(error) from error

    def _wait_for(self, kind: str, seconds: float | None) -> dict[str, Any]:
        with self._used():
            self._data.sock.settimeout(seconds)
            try:
                answer: dict[str, Any] = wire.decode(self._data.receive())
            except (ConnectionLost, ValueError) as error:
                raise self._lost(error) from error
            self._data.sock.settimeout(None)
            if kind not in answer and "failed" not in answer:
                raise self._lost(ValueError(f"{kind} was expected, {list(answer)} came"))
            return answer

    def _lost(self, error: Exception) -> SandboxError:
        if self._closing:
            return SandboxError("the session was shut down while it was in use")
        return SandboxError(f"the sandbox's session is lost: {error}")

    def _replace_data(self) -> None:
        """Give the session a new stream after a rollback: half a frame of the lost cell may be on the old one."""
        self._data.close()
        data, theirs = socket.socketpair()
        self._data = Connection(data)
        with theirs:
            socket.send_fds(self._control, [b"stream"], [theirs.fileno()])


class _RunningCell:
    """A cell while it runs: calls are answered, the clock is kept, and the end is awaited."""

    def __init__(self, session: HostSession, number: int, functions: Functions, timeout: float) -> None:
        self._session = session
        self._number = number
        self._functions = functions
        self._timeout = timeout
        self._left = timeout
        self._accepted: list[Any] = []
        self._aborted = False
        self._answering = 0
        self._sending = threading.Lock()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._pool: ThreadPoolExecutor | None = None

    def outcome(self) -> Outcome:
        """Wait for what becomes of the cell."""
        poller = select.poll()
        session = self._session
        for fd in (session._data.fileno(), session._control.fileno(), self._wake):
            poller.register(fd, select.POLLIN)
        try:
            while True:
                ready = self._poll(poller)
                if not ready:
                    self._abort()
                if self._wake in ready:
                    os.eventfd_read(self._wake)
                if session._data.fileno() in ready:
                    session._data.fill()
                while (frame := session._data.next_frame()) is not None:
                    if (outcome := self._take(wire.decode(frame))) is not None:
                        return outcome
                if session._control.fileno() in ready and (lost := self._hear_control()) is not None:
                    return lost
        except ValueError as error:
            raise session._lost(error) from error
        finally:
            if self._pool is not None:
                self._pool.shutdown(wait=False)
            os.close(self._wake)

    def _poll(self, poller: select.poll) -> list[int]:
        if self._answering:
            return [fd for fd, _ in poller.poll()]
        started = time.monotonic()
        ready = [fd for fd, _ in poller.poll(max(0, self._left) * 1000)]
        self._left -= time.monotonic() - started
        return ready

    def _abort(self) -> None:
        if self._aborted:
            raise ConnectionLost("a cell that was to be undone did not end")
        self._aborted = True
        self._left = _ABORT_SECONDS
        self._session._control.send(json.dumps(["abort", self._number]).encode())

    def _hear_control(self) -> Outcome | None:
        message = self._session._control.recv(4096)
        if not message:
            raise ConnectionLost("the session's process ended")
        kind, number, *content = json.loads(message)
        if number != self._number:
            return None
        if kind == "doomed":
            self._session._zygote.kill(self._session._number, int(content[0]))
            return None
        self._session._replace_data()
        if self._accepted:
            return Submitted(Output(), self._accepted[0])
        if self._aborted:
            return RolledBack("time", self._timeout)
        if content[0] == "memory":
            return RolledBack("memory", self._session._memory_limit)
        return RolledBack("crash", 0, str(content[1]))

    def _take(self, message: Any) -> Outcome | None:
        if "call" in message:
            if not self._aborted:
                self._answer(message)
            return None
        outcome = _outcome(message)
        return Submitted(outcome.output, self._accepted[0]) if self._accepted and hasattr(outcome, "output") else outcome

    def _answer(self, call: dict[str, Any]) -> None:
        if call["alone"]:
            self._send_answer(call, self._result(call))
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="sandbox-calls")
        self._answering += 1
        self._pool.submit(contextvars.copy_context().run, self._answer_concurrently, call)

    def _answer_concurrently(self, call: dict[str, Any]) -> None:
        answer = self._result(call)
        with self._sending:
            self._answering -= 1
        with contextlib.suppress(ConnectionLost, OSError):  # the cell has ended without waiting for it
            self._send_answer(call, answer)
            os.eventfd_write(self._wake, 1)

    def _result(self, call: dict[str, Any]) -> tuple[str, Any, ...]:
        name, args, kwargs = call["name"], call["args"], call["kwargs"]
        packer = Packer(Record, self._session._importable)
        try:
            if name == SUBMIT:
                return "returned", packer, packer.pack(self._submit(args, kwargs))
            function = self._functions[name]
            return "returned", packer, packer.pack(function(*args, **kwargs))
        except Exception as error:  # a tool's failure is the cell's to handle
            packer.close()
            return "raised", None, type(error).__name__, _builtin_base(error), _message(error)

    def _submit(self, args: list[Any], kwargs: dict[str, Any]) -> None:
        if not self._accepted:
            self._accepted.append(self._functions[SUBMIT](*args, **kwargs))
            self._left = min(self._left, _GRACE_SECONDS)

    def _send_answer(self, call: dict[str, Any], answer: tuple[str, Any, ...]) -> None:
        kind, packer, *content = answer
        with self._sending:
            try:
                self._session._data.send(pickle.dumps((call["call"], kind, *content), 5), packer.fds if packer else ())
            finally:
                if packer:
                    packer.close()


def _outcome(message: dict[str, Any]) -> Any:
    """The outcome that the worker told; it is data, so everything in it is made anew."""
    fields = dict(message["fields"])
    for name in ("output", "value"):
        if isinstance(fields.get(name), dict):
            fields[name] = Output(**fields[name])
    if "error" in fields:
        fields["error"] = CellError(**fields["error"])
    if "refusals" in fields:
        fields["refusals"] = tuple(Refusal(**refusal) for refusal in fields["refusals"])
    if "variables" in fields:
        fields["variables"] = tuple((name, Output(**shown)) for name, shown in fields["variables"])
    kind = message["outcome"]
    if kind not in ("Ran", "Failed", "Refused", "Submitted"):
        raise ValueError(f"the worker told of an outcome {kind!r}")
    try:
        return getattr(outcomes, kind)(**fields)
    except TypeError as error:
        raise ValueError(f"the worker told of an outcome that is none: {error}") from error


def _builtin_base(error: Exception) -> str:
    return next(kind.__name__ for kind in type(error).__mro__ if getattr(builtins, kind.__name__, None) is kind)


def _message(error: Exception) -> str:
    # The text of a KeyError is the key's repr, from which it would be made once more.
    return str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
