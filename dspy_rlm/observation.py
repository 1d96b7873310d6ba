"""What the root LM sees after a turn: the one place where outcomes become text for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dspy_rlm.previews import bounded_repr
from dspy_rlm.retyping import Retyped
from dspy_rlm.sandbox.outcomes import Failed, Outcome, Refused, RolledBack, Submitted
from dspy_rlm.sandbox.rendering import render

NO_CELL = "Your reply held no Python cell, so nothing ran. Send one cell in a fenced block:\n```python\nprint(...)\n```"
_LEFT_OUT = (
    "Line {line} was left out: it writes over `{name}`, which is set already, the whole of it. The rest of the cell ran "
    "with that and gave:"
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


def with_left_out(observation: Observation, retyped: Iterable[Retyped]) -> Observation:
    """The same observation, saying first which lines of the cell did not run."""
    notes = [_LEFT_OUT.format(line=statement.line, name=statement.name) for statement in retyped]
    return Observation("\n".join([*notes, observation.text]), observation.error)


def repeated(observation: Observation, variables: str | None = None) -> Observation:
    """The same observation, saying that it is the same.

    Args:
        observation: What the cell gave, as before.
        variables: The first observation, where saying so did not help before: told once more, as at the start.
    """
    told = _REPEATED if variables is None else f"{_REPEATED} Start over, with what there is:\n\n{variables}"
    return Observation(f"{observation.text}\n\n{told}", observation.error)


def status_line(turn: int, max_iters: int, submit: str, calls_left: int | None = None, *, failed: bool = False) -> str:
    """The last line of an observation: where in the run this is, and what to decide.

    Args:
        turn: The turn that this observation opens, from 1.
        max_iters: Turns of the run.
        submit: How to submit, for example `SUBMIT(ip=..., requests=...)`.
        calls_left: Sub-module calls left; None while none was made.
        failed: Whether the observation tells that something went wrong.

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
    if failed:  # shown how to submit where nothing was found, a small model copies the call with its dots
        return f"{line} Begin the reasoning with what went wrong above, then send a corrected cell."
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
