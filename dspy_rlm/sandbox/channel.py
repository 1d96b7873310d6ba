"""The worker's end of the wire: requests of the host come in, calls of host functions go out, from any thread."""

from __future__ import annotations

import builtins
import itertools
import pickle
import threading
from typing import Any

from . import transport, wire
from .connection import MAX_FRAME, Connection


class _Call:
    """A call that waits for its answer."""

    answer: tuple[Any, ...] | None = None


class Channel:
    """What the worker says to the host and hears from it.

    Args:
        connection: To the host.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._numbers = itertools.count()
        self._sending = threading.Lock()
        self._changed = threading.Condition()
        self._waiting: dict[int, _Call] = {}
        self._reading = False

    def request(self) -> tuple[Any, ...]:
        """Wait for the host's next request.

        Raises:
            ConnectionLostError: The host has ended the session.
        """
        message: tuple[Any, ...] = pickle.loads(self.connection.receive())  # noqa: S301  # the host is trusted
        return message

    def report(self, **message: Any) -> None:
        """Tell the host something."""
        self._send(wire.encode(message))

    def call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function of the host.

        Raises:
            TypeError: An argument cannot leave the sandbox.
            Exception: What the host's function raised, as an exception of the same name.
        """
        number, call = next(self._numbers), _Call()
        # Alone, nobody else can need the host meanwhile, so that its own thread may answer.
        alone = threading.active_count() == 1
        frame = wire.encode({"call": number, "name": name, "alone": alone, "args": list(args), "kwargs": kwargs})
        if len(frame) > MAX_FRAME:
            raise TypeError(
                f"the arguments of {name} take {len(frame):,} bytes, at most {MAX_FRAME:,} can be handed over"
            )
        self._waiting[number] = call
        self._send(frame)
        kind, *content = self._answer(call)
        if kind == "raised":
            raise _exception(*content)
        return content[0]

    def _send(self, frame: bytes) -> None:
        with self._sending:
            self.connection.send(frame)

    def _answer(self, call: _Call) -> tuple[Any, ...]:
        """Wait for the answer; of all threads that wait, one reads, and hands the others what is theirs."""
        while True:
            with self._changed:
                while call.answer is None and self._reading:
                    self._changed.wait()
                if call.answer is not None:
                    return call.answer
                self._reading = True
            try:
                self._read_answer()
            finally:
                with self._changed:
                    self._reading = False
                    self._changed.notify_all()

    def _read_answer(self) -> None:
        number, kind, *content = self.request()
        if kind == "returned":
            content = [transport.unpack(content[0], self.connection.fds)]
        self._waiting.pop(number).answer = (kind, *content)


_classes: dict[tuple[str, str], type[Exception]] = {}


def _exception(kind: str, base: str, message: str) -> Exception:
    """Make the host's exception anew: the builtin class itself, or one of its name that derives from the nearest."""
    found = getattr(builtins, kind, None)
    if found is None:
        found = _classes.get((kind, base))
    if found is None:
        found = _classes[kind, base] = type(kind, (getattr(builtins, base),), {"__module__": "host"})
    try:
        error = found(message)
    except TypeError:  # UnicodeDecodeError and its kin want more than a message
        return RuntimeError(f"{kind}: {message}")
    return error if isinstance(error, Exception) else RuntimeError(f"{kind}: {message}")
