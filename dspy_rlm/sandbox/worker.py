"""A session's process: it serves the host's requests, and runs every cell as a transaction.

Before a cell the process forks. The child runs the cell and, once its parent has let go, carries on as the session; the
parent waits. Should the child be lost, by a crash, by memory, or because the host called time, the parent carries on,
with every variable as it was. The parent alone decides which of the two it is, so that no answer of a cell that was
rolled back can reach the host.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import select
import signal
import socket
from collections.abc import Callable
from typing import Any, Never

from . import isolation, transport
from .cells import Namespace, SubmitSignal, compile_cell, run_cell
from .channel import Channel
from .connection import Connection, ConnectionLostError
from .outcomes import Ran, Refused, Submitted

_OUT_OF_MEMORY = 77  # exit code of a cell that used up its memory
_DONE, _GO = b"d", b"g"


class Worker:
    """One session.

    Args:
        data: Stream to the host: requests, calls, outcomes.
        control: Packets to the host: what becomes of a running cell.
        config: `max_output_chars`, `extra_modules` and `memory_limit`.
    """

    def __init__(self, data: socket.socket, control: socket.socket, config: dict[str, Any]) -> None:
        self._channel = Channel(Connection(data))
        self._control = control
        self._memory_limit: int = config["memory_limit"]
        self._sealed = False
        self._namespace = Namespace(max_output_chars=config["max_output_chars"], extra_modules=config["extra_modules"])
        for name, function in (("SUBMIT", self._submit), ("FINAL", self._submit), ("FINAL_VAR", self._submit_variable)):
            self._namespace.bind(name, _named(name, function))

    def serve(self) -> Never:
        """Serve the host until it ends the session."""
        self._channel.report(ready=True)
        while True:
            try:
                kind, *content = self._channel.request()
                getattr(self, f"_do_{kind}")(*content)
            except ConnectionLostError:
                os._exit(0)

    def _do_bind(self, values: list[tuple[str, transport.Packed]], functions: list[str]) -> None:
        try:
            for name, packed in values:
                self._namespace.bind(name, transport.unpack(packed, self._channel.connection.fds))
        except Exception as error:  # whatever a value's own class raises while it is made again
            self._channel.connection.drop_fds()
            self._channel.report(failed=f"{type(error).__name__}: {error}")
            return
        for name in functions:
            self._namespace.bind(name, _named(name, self._host_function(name)))
        self._channel.report(bound=True)

    def _do_unbind(self, names: list[str]) -> None:
        for name in names:
            self._namespace.unbind(name)

    def _do_cell(self, number: int, source: str) -> None:
        self._transact(number, lambda: self._run(number, source))

    def _transact(self, number: int, run: Callable[[], dict[str, Any]]) -> None:
        if not self._sealed:
            isolation.seal(self._memory_limit)
            self._sealed = True
        parents, childs = socket.socketpair()
        child = os.fork()
        if child:
            childs.close()
            with parents:
                self._guard(number, child, parents)
            return
        isolation.die_with_parent()
        parents.close()
        with childs:
            outcome = _outcome_or_exit(run)
            isolation.die_with_parent(False)
            childs.sendall(_DONE)
            if childs.recv(1) != _GO:
                os._exit(0)
        self._channel.report(**outcome)

    def _guard(self, number: int, child: int, parents: socket.socket) -> None:
        """Wait for the cell; end this process when the child carries on, return when it was lost."""
        poller = select.poll()
        poller.register(parents, select.POLLIN)
        poller.register(self._control, select.POLLIN)
        doomed = False
        while True:
            ready = [fd for fd, _ in poller.poll()]
            if self._control.fileno() in ready:
                doomed = self._hear_abort(number, child) or doomed
            if parents.fileno() in ready:
                message = _receive_byte(parents)
                if not message:
                    return self._recover(number, child)
                if not doomed:
                    parents.sendall(_GO)
                    os._exit(0)

    def _hear_abort(self, number: int, child: int) -> bool:
        message = self._control.recv(1000)
        if not message:
            os._exit(1)
        if json.loads(message) != ["abort", number]:
            return False  # of an earlier cell, which ended in that moment
        # The filter lets nobody here kill anything, so the host has it done.
        self._tell("doomed", number, child)
        return True

    def _recover(self, number: int, child: int) -> None:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        reason = "memory" if status == _OUT_OF_MEMORY else "crash"
        self._tell("lost", number, reason, _cause(status))
        # Half a frame may be on the old stream.
        data, fds, _, _ = socket.recv_fds(self._control, 1000, 1)
        while data and not fds:
            data, fds, _, _ = socket.recv_fds(self._control, 1000, 1)
        if not data:
            os._exit(1)
        self._channel.connection.close()
        self._channel = Channel(Connection(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=fds[0])))

    def _tell(self, *message: Any) -> None:
        try:
            self._control.sendall(json.dumps(message).encode("ascii"))
        except OSError:
            os._exit(1)  # the host is gone

    def _run(self, number: int, source: str) -> dict[str, Any]:
        compiled = compile_cell(source, number, self._namespace)
        if isinstance(compiled, Refused):
            return _report(compiled)
        try:
            outcome = run_cell(compiled, self._namespace)
        except SubmitSignal:
            return _report(Submitted(self._namespace.output(), None))
        return _report(dataclasses.replace(outcome, raw_value=None) if isinstance(outcome, Ran) else outcome)

    def _host_function(self, name: str) -> Callable[..., Any]:
        # Through self, because a rollback replaces the channel.
        return lambda *args, **kwargs: self._channel.call(name, args, kwargs)

    def _submit(self, *args: Any, **kwargs: Any) -> None:
        self._channel.call("SUBMIT", args, kwargs)
        raise SubmitSignal

    def _submit_variable(self, name: Any) -> None:
        if not isinstance(name, str):
            self._submit(name)
        key = name.strip().strip("'\"")
        if key not in self._namespace.variables or key.startswith("__"):
            raise NameError(f"FINAL_VAR: there is no variable {key!r}: set it first, or use SUBMIT(value)")
        self._submit(self._namespace.variables[key])


def _outcome_or_exit(run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return run()
    except MemoryError:
        os._exit(_OUT_OF_MEMORY)
    except ConnectionLostError:
        os._exit(0)


def _report(outcome: Any) -> dict[str, Any]:
    return {"outcome": type(outcome).__name__, "fields": dataclasses.asdict(outcome)}


def _named(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a plain function of that name, since a bound method would lead a cell to its object."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return call


def _receive_byte(sock: socket.socket) -> bytes:
    with contextlib.suppress(OSError):
        return sock.recv(1)
    return b""


def _cause(status: int) -> str:
    if status >= 0:
        return f"exit code {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
