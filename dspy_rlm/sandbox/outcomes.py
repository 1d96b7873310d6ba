"""What can become of a cell, as typed values; turning them into text for the model is the loop's business."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Output:
    """What a cell printed, cut to head and tail inside the worker.

    `head` is all of it when `tail` is empty; `length` is the true number of characters printed.
    """

    head: str = ""
    tail: str = ""
    length: int = 0


@dataclass(frozen=True, slots=True)
class Refusal:
    """One thing in a cell that the policy does not admit: its line number, the line's text, and what to write."""

    line: int
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class CellError:
    """An exception that left a cell.

    `kind` is the exception's class name, `line` and `text` the failing line of the model's own code,
    `trace` the readable traceback with frames of the model's cells only.
    """

    kind: str
    message: str
    line: int | None
    text: str
    trace: str


@dataclass(frozen=True, slots=True)
class Ran:
    """The cell ended. `value` is the repr of its trailing expression, as a notebook shows it (None: no value).

    `raw_value` is the trailing expression's value itself. A cell that showed nothing tells the variables it set, names
    with reprs: models often write `answer = f(x)` and mean to see the answer. `restored` names the inputs and functions
    that the cell rebound or deleted, and that are as before again.
    """

    output: Output
    value: Output | None = None
    raw_value: Any = None
    variables: tuple[tuple[str, Output], ...] = ()
    restored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """The cell raised; what it did before the exception holds, except for the names `restored`, as in `Ran`."""

    output: Output
    error: CellError
    restored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """The cell was not run: its syntax is wrong or the policy does not admit it."""

    refusals: tuple[Refusal, ...]
    kind: Literal["syntax", "policy"] = "policy"


@dataclass(frozen=True, slots=True)
class Submitted:
    """`SUBMIT` was called and accepted; `value` is what the host's submit handler returned."""

    output: Output
    value: Any


@dataclass(frozen=True, slots=True)
class RolledBack:
    """The cell did not end by itself; the variables are as they were before it.

    `reason` is time (past `limit` seconds of sandbox time), memory (past `limit` bytes), or crash
    (`detail` names the signal or exit code).
    """

    reason: Literal["time", "memory", "crash"]
    limit: float
    detail: str = ""


Outcome = Ran | Failed | Refused | Submitted | RolledBack
