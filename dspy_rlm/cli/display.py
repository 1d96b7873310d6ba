"""What the user sees of a run while it happens and when it ends: progress on stderr, the answer alone on stdout."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import dspy
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.rule import Rule
from rich.spinner import Spinner
from rich.syntax import Syntax
from rich.text import Text

from dspy_rlm.cli.outputs import as_json, as_text
from dspy_rlm.events import CellRan, CellWritten, Event, Extracting, SubCallEnded, SubCallStarted, TurnStarted
from dspy_rlm.narration import counted, narrate, shown_output, spent
from dspy_rlm.trajectory import Step

# What files and models write must not move the cursor or change the title of a terminal.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}


class Display:
    """Remembers a run and shows nothing of it until it ends; then JSON, and nothing else, on stdout."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._turn = ""
        self._activity = "starting"
        self._lms: Sequence[dspy.LM] = ()
        self._started = time.monotonic()
        self._lock = threading.Lock()  # sub-modules that run concurrently may have events of their own

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Nothing to clear up."""

    def chosen(self, reason: str, lms: Sequence[dspy.LM]) -> None:
        """The run begins with these LMs, the root LM first."""
        self._lms = lms

    def take(self, event: Event) -> None:
        """Show what has just happened."""
        with self._lock:
            self._activity = _activity(event) or self._activity
            match event:
                case TurnStarted(turn=turn, max_iters=most):
                    self._turn = f"turn {turn} of {most}  ·  "
                case CellRan(step=step):
                    self.steps.append(step)
            self.show(event)

    def show(self, event: Event) -> None:
        """Show one event."""

    def answered(self, outputs: Mapping[str, Any], prediction: dspy.Prediction) -> None:
        """The run has these outputs."""
        print(as_json(outputs))

    def failed(self, error: Exception) -> None:
        """The run ended without an answer."""
        print(as_json({"error": _line(error), "steps": self.steps}))

    def interrupted(self) -> None:
        """The user ended the run."""
        print(as_json({"error": "interrupted", "steps": self.steps}), flush=True)

    def totals(self) -> str:
        """Turns, sub-calls, tokens and seconds so far, in words."""
        calls = sum(len(step.sub_calls) for step in self.steps)
        parts = [counted(len(self.steps), "turn"), *([counted(calls, "sub-call")] if calls else [])]
        return ", ".join([*parts, self._spent_so_far()])

    def _spent_so_far(self) -> str:
        return f"{time.monotonic() - self._started:.1f} s, {_tokens(self._lms)}"


class PlainDisplay(Display):
    """Lines of text, for pipes and log files."""

    def chosen(self, reason: str, lms: Sequence[dspy.LM]) -> None:
        """Say which model answers, and why this one."""
        super().chosen(reason, lms)
        self._tell(f"model: {lms[0].model} ({reason})")

    def show(self, event: Event) -> None:
        """Show one event in a few lines."""
        for line in narrate(event):
            self._tell(line)

    def answered(self, outputs: Mapping[str, Any], prediction: dspy.Prediction) -> None:
        """The answer alone goes to stdout."""
        self._tell(f"{_ending(prediction)} ({self.totals()})")
        text = as_text(outputs)
        print(_safe(text) if sys.stdout.isatty() else text)

    def failed(self, error: Exception) -> None:
        """One line that says why."""
        self._tell(f"No answer: {_line(error)}")

    def interrupted(self) -> None:
        """What was found so far."""
        self._tell(f"Interrupted ({self.totals()}).")
        output = next((step.output.strip() for step in reversed(self.steps) if step.output.strip()), "")
        self._tell(f"The last output was:\n{output}" if output else "Nothing was found yet.")

    def _tell(self, line: str) -> None:
        print(_safe(line), file=sys.stderr, flush=True)


class LiveDisplay(PlainDisplay):
    """What happens while it happens, for a terminal: finished turns scroll up, a status line stays below them.

    Args:
        console: The terminal.
    """

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console
        self._spinner = Spinner("dots")
        self._live = Live(console=console, get_renderable=self._status, refresh_per_second=8, transient=True)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Give the terminal back."""
        self._live.stop()

    def chosen(self, reason: str, lms: Sequence[dspy.LM]) -> None:
        """Say which model answers, and start the status line."""
        super().chosen(reason, lms)
        self._live.start()

    def show(self, event: Event) -> None:
        """Show one event above the status line."""
        match event:
            case CellWritten():
                self._console.print(_cell(event))
            case CellRan(step=step):
                self._console.print(_result(step))

    def answered(self, outputs: Mapping[str, Any], prediction: dspy.Prediction) -> None:
        """As elsewhere, once the status line is gone."""
        self._live.stop()
        super().answered(outputs, prediction)

    def failed(self, error: Exception) -> None:
        """As elsewhere, once the status line is gone."""
        self._live.stop()
        super().failed(error)

    def interrupted(self) -> None:
        """As elsewhere, once the status line is gone."""
        self._live.stop()
        super().interrupted()

    def _tell(self, line: str) -> None:
        self._console.print(Text(_safe(line), style="dim"))

    def _status(self) -> RenderableType:
        status = f"{self._turn}{self._activity}  ·  {self._spent_so_far()}"
        self._spinner.update(text=Text(status, style="cyan", no_wrap=True, overflow="ellipsis"))
        return self._spinner


def make_display(json: bool) -> Display:
    """The display for where this command runs.

    Args:
        json: Whether only JSON may be printed.
    """
    if json:
        return Display()
    console = Console(stderr=True)
    return LiveDisplay(console) if console.is_terminal else PlainDisplay()


def _activity(event: Event) -> str | None:
    match event:
        case TurnStarted():
            return "the model thinks"
        case CellWritten() | SubCallEnded():
            return "the cell runs"
        case SubCallStarted(name=name, count=count):
            return f"{name} answers" if count == 1 else f"{count} × {name} answer"
        case Extracting():
            return "the model puts the answer together"
    return None


def _cell(event: CellWritten) -> RenderableType:
    code = Syntax(_safe(event.code.strip()), "python", theme="ansi_dark", background_color="default", word_wrap=True)
    title = Rule(Text(f"turn {event.turn}"), align="left", style="dim")
    return Group(title, Text(_safe(event.reasoning.strip())), Padding(code, (0, 0, 0, 2)))


def _result(step: Step) -> RenderableType:
    style = "red" if step.error else "green"
    output = Text(_safe("\n".join(shown_output(step))), style=style)
    return Group(Padding(output, (0, 0, 0, 2)), Text(f"  {spent(step)}", style="dim"))


def _ending(prediction: dspy.Prediction) -> str:
    if prediction.finish_reason == "submitted":
        return "Answered"
    limit = "turns" if prediction.finish_reason == "max_iters" else "context"
    return f"The model ran out of {limit}: this answer was put together from what it had done"


def _tokens(lms: Sequence[dspy.LM]) -> str:
    usages = [entry.get("usage") or {} for lm in lms for entry in list(lm.history)]
    read, written = (sum(usage.get(kind) or 0 for usage in usages) for kind in ("prompt_tokens", "completion_tokens"))
    return f"{read:,} tokens read, {written:,} written"


def _line(error: Exception) -> str:
    """The first line of an error's message: those of LM providers go on with advice for programmers."""
    return (str(error).strip() or type(error).__name__).split("\n")[0]


def _safe(text: str) -> str:
    return text.translate(_CONTROLS)
