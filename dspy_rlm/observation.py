"""What the root LM sees after a turn: the one place where outcomes become text for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dspy_rlm.previews import bounded_repr
from dspy_rlm.sandbox.outcomes import Failed, Outcome, Refused, RolledBack, Submitted
from dspy_rlm.sandbox.rendering import render

NO_CELL = "Your reply held no Python cell, so nothing ran. Send one cell in a fenced block:\n```python\nprint(...)\n```"
_TYPED_OVER = (
    "The cell was not run: line {line} types text over `{name}`. {name} is set and holds the whole data, of which you saw "
    "only a preview. Send the cell again without that line."
)
_NO_OUTPUT = "(the cell printed nothing: print what you want to see)"
_REPEATED = (
    "You ran this same cell before, with this same result; running it once more cannot help. "
    "SUBMIT what it gave, or write a different cell."
)
_ERROR = 300  # characters of a step's one line about its error
_SUBMITTED = 300  # characters of the submitted outputs that a trajectory keeps in its last observation


@dataclass(frozen=True)
class Observation:
    """What became of a cell: the text for the root LM, and in one line what went wrong, if anything did."""

    text: str
    error: str | None = None


def observe(outcome: Outcome) -> Observation:
    """The observation that an outcome gives."""
    if isinstance(outcome, Submitted):
        printed = f"{rendered}\n" if (rendered := render(outcome)) else ""
        return Observation(f"{printed}Submitted: {_outputs(outcome.value)}")
    return Observation(render(outcome) or _NO_OUTPUT, _error(outcome))


def typed_over_observation(name: str, line: int) -> Observation:
    """What is said of a cell that types data over the input `name`, instead of running it."""
    return Observation(_TYPED_OVER.format(name=name, line=line), f"typed over the input {name!r}")


def repeated(observation: Observation) -> Observation:
    """The same observation, saying that it is the same."""
    return Observation(f"{observation.text}\n\n{_REPEATED}", observation.error)


def status_line(turn: int, max_iters: int, submit: str, calls_left: int | None = None) -> str:
    """The last line of an observation: where in the run this is, and what to decide.

    Args:
        turn: The turn that this observation opens, from 1.
        max_iters: Turns of the run.
        submit: How to submit, for example `SUBMIT(ip=..., requests=...)`.
        calls_left: Sub-module calls left; None while none was made.

    Example:
        >>> status_line(1, 6, "SUBMIT(ip=...)")
        'Turn 1 of 6.'
        >>> status_line(6, 6, "SUBMIT(ip=...)")
        'Turn 6 of 6. It is the last one: write SUBMIT(ip=...) now, with what you have.'
    """
    line = f"Turn {turn} of {max_iters}."
    if calls_left is not None:
        line += f" {calls_left} sub-LM calls left."
    if turn == max_iters:
        return f"{line} It is the last one: write {submit} now, with what you have."
    if turn == 1:
        return line
    # Tried on a 1.5B model: told to begin with the output, it reads it, else it copies its last reply, cell and all; and
    # it submits when it sees the call as a cell, else it prints the answer once more.
    return (
        f"{line} Begin the reasoning with what the output above shows. If that answers the task, the code is only\n"
        f"```python\n{submit}\n```\nwith the values; if not, send a different cell."
    )


def _outputs(value: Any) -> str:
    if not isinstance(value, Mapping):
        return bounded_repr(value, _SUBMITTED)
    return ", ".join(f"{name}={bounded_repr(item, _SUBMITTED)}" for name, item in value.items())


def _error(outcome: Outcome) -> str | None:
    match outcome:
        case Failed(error=error):
            return _one_line(f"{error.kind}: {error.message}")
        case Refused(refusals=refusals, kind=kind):
            return _one_line(f"{kind}: {refusals[0].reason}")
        case RolledBack(reason=reason):
            return f"rolled back: {reason}"
        case _:
            return None


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _ERROR else f"{line[:_ERROR]}…"
