"""One cell while it runs, from the host's side: its calls are answered, its time is kept, its outcome is read."""

from __future__ import annotations

import builtins
import contextvars
import dataclasses
import inspect
import json
import math
import os
import select
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from dspy_rlm.awaiting import result_of
from dspy_rlm.errors import SandboxError
from dspy_rlm.interrupts import CHECK_SECONDS

from . import wire
from .connection import Connection, ConnectionLostError
from .launch import lost
from .outcomes import CellError, Failed, Outcome, Output, Ran, Refusal, Refused, RolledBack, Submitted
from .session import HostSession
from .transport import Packer
from .values import Record

_GRACE = 1.0  # seconds for a cell to end after an accepted submission
_ABORT = 5.0  # seconds for a rollback; past them the session is broken
_MAX_THREADS = 64
OnSubmit = Callable[[tuple[Any, ...], Mapping[str, Any]], Any]


class _Clock:
    """Counts down the sandbox's own time: it stands while the host answers a call."""

    def __init__(self, limit: float) -> None:
        self._lock = threading.Lock()
        self.answering = 0
        self.restart(limit)

    def restart(self, limit: float) -> None:
        with self._lock:
            self._left, self._since = limit, time.monotonic()

    def pause(self) -> None:
        with self._lock:
            if self.answering == 0:
                self._left -= time.monotonic() - self._since
            self.answering += 1

    def resume(self) -> None:
        with self._lock:
            self.answering -= 1
            if self.answering == 0:
                self._since = time.monotonic()

    def left(self) -> float:
        """Seconds left; infinite while the clock stands."""
        with self._lock:
            return math.inf if self.answering else self._left - (time.monotonic() - self._since)


class CellRun:
    """One run of one cell.

    Args:
        session: Where it runs.
        number: The cell's number.
        timeout: Seconds of the sandbox's own time.
        memory_limit: Bytes, for the outcome to name.
        on_submit: Checks a submission, and returns its value.
    """

    def __init__(
        self, session: HostSession, number: int, timeout: float, memory_limit: int, on_submit: OnSubmit
    ) -> None:
        self._session = session
        self._number = number
        self._timeout = timeout
        self._memory_limit = memory_limit
        self._on_submit = on_submit
        self._clock = _Clock(timeout)
        self._submitted: Submitted | None = None
        self._aborted = False
        self._interrupt: BaseException | None = None

    def run(self, code: str) -> Outcome:
        """Run the cell to its outcome.

        Raises:
            SandboxError: The session is over.
            BaseException: What a host function raised that is no `Exception`, a KeyboardInterrupt for example; the
                cell is rolled back.
        """
        try:
            self._session.send(("cell", self._number, code))
            return self._wait()
        except SandboxError:
            self._session.close()
            raise
        except (ConnectionLostError, OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            self._session.close()
            raise lost(error) from error
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        try:
            if not self._aborted:
                self._abort()
            self._wait()
        except Exception:  # the session is over then, and what is under way to the caller says more
            self._session.close()

    def _wait(self) -> Outcome:
        session = self._session
        while True:
            left = self._clock.left()
            if left <= 0:
                self._abort()
                left = _ABORT
            poller = select.poll()
            for source in (session.connection, session.control, session.waker):
                poller.register(source, select.POLLIN)
            ready = {fd for fd, _ in poller.poll(math.ceil(min(left, CHECK_SECONDS) * 1000))}
            if session.closed:
                raise lost("it was shut down while a cell ran")
            if session.waker in ready:
                self._woken()
            outcome = self._read_control() if session.control.fileno() in ready else None
            if outcome is None and session.connection.fileno() in ready:
                outcome = self._read_data()
            if outcome is not None:
                return outcome

    def _woken(self) -> None:
        os.eventfd_read(self._session.waker)
        if self._interrupt is not None:
            interrupt, self._interrupt = self._interrupt, None
            raise interrupt

    def _abort(self) -> None:
        if self._aborted:
            raise lost("a cell could not be stopped")
        self._aborted = True
        self._clock = _Clock(_ABORT)
        self._session.control.sendall(json.dumps(["abort", self._number]).encode())

    def _read_control(self) -> Outcome | None:
        message = self._session.control.recv(4096)
        if not message:
            raise lost("its process ended")
        kind, number, *content = json.loads(message)
        if number != self._number:
            return None
        if kind == "doomed":
            self._session.zygote.order("kill", self._session.number, int(content[0]))
            return None
        self._session.renew()
        return self._submitted or self._rolled_back(str(content[0]), str(content[1]))

    def _rolled_back(self, reason: str, detail: str) -> RolledBack:
        if self._aborted:
            return RolledBack("time", self._timeout)
        if reason == "memory":
            return RolledBack("memory", self._memory_limit)
        return RolledBack("crash", 0, detail)

    def _read_data(self) -> Outcome | None:
        connection = self._session.connection
        connection.fill()
        connection.drop_fds()
        while (frame := connection.next_frame()) is not None:
            message = wire.decode(frame)
            if "outcome" in message:
                outcome = _read_outcome(message)
                output = getattr(outcome, "output", Output())
                return dataclasses.replace(self._submitted, output=output) if self._submitted else outcome
            if not self._aborted:
                self._serve(connection, message)
        return None

    def _serve(self, connection: Connection, message: dict[str, Any]) -> None:
        name, args, kwargs = message["name"], message["args"], message["kwargs"]
        number = message["call"]
        if name == "SUBMIT":
            self._answer(connection, number, name, lambda: self._submit(args, kwargs))
            return
        function = self._session.functions[name]

        def call() -> Any:
            result = function(*args, **kwargs)
            return result_of(result, ended=lambda: self._session.closed) if inspect.iscoroutine(result) else result

        self._clock.pause()
        if message["alone"] or self._clock.answering > _MAX_THREADS:
            try:
                self._answer(connection, number, name, call)
            finally:
                self._clock.resume()
        else:
            context = contextvars.copy_context()
            target = (self._answer_aside, connection, number, name, call)
            threading.Thread(target=context.run, args=target, name=f"call of {name}", daemon=True).start()

    def _submit(self, args: list[Any], kwargs: dict[str, Any]) -> None:
        if self._submitted is None:
            self._clock.pause()
            try:
                self._submitted = Submitted(Output(), self._on_submit(tuple(args), kwargs))
            finally:
                self._clock.resume()
            self._clock.restart(_GRACE)

    def _answer_aside(self, *call: Any) -> None:
        try:
            self._answer(*call)
        except BaseException as error:
            self._interrupt = error
        finally:
            self._clock.resume()
            self._session.wake()

    def _answer(self, connection: Connection, number: int, name: str, call: Callable[[], Any]) -> None:
        packer = Packer(Record)
        try:
            try:
                answer: tuple[Any, ...] = (number, "returned", _pack_result(packer, name, call()))
            except Exception as error:
                answer = (number, "raised", type(error).__name__, _builtin_base(error), _message(error))
            self._session.send(answer, packer, connection)
        finally:
            packer.close()


def _pack_result(packer: Packer, name: str, value: Any) -> Any:
    try:
        return packer.pack(value)
    except TypeError as error:
        raise TypeError(f"the result of {name} cannot be handed over: {error}") from error


def _builtin_base(error: Exception) -> str:
    """Name the builtin class nearest to an exception; RuntimeError where that would only be Exception."""
    for kind in type(error).__mro__:
        if kind is not Exception and getattr(builtins, kind.__name__, None) is kind:
            return kind.__name__ if issubclass(kind, Exception) else "RuntimeError"
    return "RuntimeError"


def _message(error: Exception) -> str:
    if isinstance(error, KeyError) and len(error.args) == 1 and isinstance(error.args[0], str):
        return error.args[0]
    try:
        return str(error)
    except Exception as failure:  # an exception's own text is the tool author's code
        return f"(its text cannot be told: {type(failure).__name__})"


def _read_outcome(message: dict[str, Any]) -> Outcome:
    """Read an outcome off the wire, field by field, since the worker may send anything.

    Raises:
        ValueError: It is none.
    """
    fields = message["fields"]
    match message["outcome"]:
        case "Ran":
            value = _read_output(fields["value"]) if fields["value"] else None
            variables = tuple((str(name), _read_output(item)) for name, item in fields["variables"])
            return Ran(_read_output(fields["output"]), value, None, variables, _read_names(fields["restored"]))
        case "Failed":
            error = fields["error"]
            line = None if error["line"] is None else int(error["line"])
            texts = [str(error[name]) for name in ("text", "trace")]
            return Failed(
                _read_output(fields["output"]),
                CellError(str(error["kind"]), str(error["message"]), line, *texts),
                _read_names(fields["restored"]),
            )
        case "Refused":
            refusals = tuple(Refusal(int(r["line"]), str(r["text"]), str(r["reason"])) for r in fields["refusals"])
            return Refused(refusals, "syntax" if fields["kind"] == "syntax" else "policy")
        case "Submitted":
            return Submitted(_read_output(fields["output"]), None)
        case other:
            raise ValueError(f"the worker sent the outcome {other!r}")


def _read_names(names: list[Any]) -> tuple[str, ...]:
    return tuple(str(name) for name in names)


def _read_output(fields: dict[str, Any]) -> Output:
    return Output(str(fields["head"]), str(fields["tail"]), int(fields["length"]))
