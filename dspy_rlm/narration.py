"""What happens in a run as plain lines, for logs and for displays without a screen."""

from __future__ import annotations

from collections.abc import Iterator

from dspy_rlm.events import CellRan, CellWritten, Event, Extracting, SubCallEnded, SubCallStarted, TurnStarted
from dspy_rlm.trajectory import Step

SHOWN_LINES = 20  # of a cell's output; the root LM may see more of it


def narrate(event: Event) -> Iterator[str]:
    """The lines that tell an event; none for what tells nothing new.

    Example:
        >>> list(narrate(CellWritten(2, "Count them.", "n = len(rows)\\nprint(n)")))
        ['turn 2: Count them.', '    n = len(rows)', '    print(n)']
    """
    match event:
        case TurnStarted(turn=1, max_iters=most):
            yield f"the root LM has at most {counted(most, 'turn')}"
        case CellWritten(turn=turn, reasoning=reasoning, code=code):
            yield f"turn {turn}: {reasoning.strip()}"
            yield from (f"    {line}" for line in code.strip().split("\n"))
        case CellRan(step=step):
            yield from (f"  > {line}" for line in shown_output(step))
            yield f"  ({spent(step)})"
        case SubCallStarted(name=name, count=count):
            yield f"  {name}: {counted(count, 'call')}"
        case SubCallEnded(name=name, duration=duration):
            yield f"  {name}: answered in {duration:.1f} s"
        case Extracting():
            yield "no turns are left: putting the answer together"


def shown_output(step: Step) -> list[str]:
    """The lines of a step's output that are shown, the last of them telling how many are not."""
    lines = step.output.strip().split("\n")
    more = len(lines) - SHOWN_LINES
    return [*lines[:SHOWN_LINES], f"… {counted(more, 'more line')}"] if more > 0 else lines


def spent(step: Step) -> str:
    """What a step took: seconds and sub-calls."""
    calls = f", {counted(len(step.sub_calls), 'sub-call')}" if step.sub_calls else ""
    return f"{step.duration:.2f} s{calls}"


def counted(count: int, noun: str) -> str:
    """A number of things.

    Example:
        >>> counted(1, "turn"), counted(1200, "turn")
        ('1 turn', '1,200 turns')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
