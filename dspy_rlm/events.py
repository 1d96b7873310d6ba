"""What happens in a run, told while it happens: one frozen event a kind, handed to whoever listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from dspy_rlm.trajectory import FinishReason, Step


@dataclass(frozen=True)
class RunStarted:
    """A run began; `variables` is the first observation of the root LM."""

    variables: str


@dataclass(frozen=True)
class TurnStarted:
    """The root LM is asked for cell number `turn` (from 1) of at most `max_iters`."""

    turn: int
    max_iters: int


@dataclass(frozen=True)
class CellWritten:
    """The root LM wrote a cell, which now runs."""

    turn: int
    reasoning: str
    code: str


@dataclass(frozen=True)
class CellRan:
    """A turn is over; `step` tells what became of its cell."""

    turn: int
    step: Step


@dataclass(frozen=True)
class SubCallStarted:
    """A cell called the sub-module `name`, `count` times at once."""

    name: str
    count: int


@dataclass(frozen=True)
class SubCallEnded:
    """The `count` calls of the sub-module `name` are answered, after `duration` seconds."""

    name: str
    count: int
    duration: float


@dataclass(frozen=True)
class Extracting:
    """Turns or context ran out; `extract` is asked for the outputs."""


@dataclass(frozen=True)
class RunEnded:
    """The run has its answer."""

    finish_reason: FinishReason


Event = RunStarted | TurnStarted | CellWritten | CellRan | SubCallStarted | SubCallEnded | Extracting | RunEnded
Listener = Callable[[Event], None]

_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("dspy_rlm_listeners", default=())


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Hand every event of the runs inside this block to `listener`, on the thread where it happens.

    Args:
        listener: Called with one event at a time; what it raises ends the run.

    Example:
        >>> seen = []
        >>> with listening(seen.append):
        ...     emit(TurnStarted(turn=1, max_iters=20))
        >>> seen
        [TurnStarted(turn=1, max_iters=20)]
    """
    token = _listeners.set((*_listeners.get(), listener))
    try:
        yield
    finally:
        _listeners.reset(token)


def emit(event: Event) -> None:
    """Hand `event` to every listener of the current context, outermost first."""
    for listener in _listeners.get():
        listener(event)
