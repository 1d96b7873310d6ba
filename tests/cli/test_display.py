import io
import re

import dspy
import pytest
from rich.console import Console

from dspy_rlm.cli.display import Display, LiveDisplay, PlainDisplay, make_display
from dspy_rlm.events import CellRan, CellWritten, Event, Extracting, SubCallEnded, SubCallStarted, TurnStarted
from dspy_rlm.testing import ScriptedLM
from dspy_rlm.trajectory import Step, SubCall

CALL = SubCall(name="llm_query", inputs={"prompt": "p"}, output="r")
EVENTS: list[Event] = [
    TurnStarted(1, 20),
    CellWritten(1, "Look [bold]first[/bold].", "print(1)\nllm_query_batched('abc')"),
    SubCallStarted("llm_query", 3),
    SubCallEnded("llm_query", 3, 1.25),
    CellRan(1, Step(reasoning="", code="", output="1\nevil \x1b[2J\x9b", duration=0.5, sub_calls=(CALL,) * 3)),
    TurnStarted(2, 20),
    CellWritten(2, "Fail.", "1/0"),
    CellRan(2, Step(reasoning="", code="", output="\n".join(map(str, range(25))), error="ZeroDivisionError")),
    Extracting(),
]


def shown_live(capsys: pytest.CaptureFixture[str]) -> str:
    terminal = io.StringIO()
    with LiveDisplay(Console(file=terminal, force_terminal=True, width=100, height=50)) as display:
        play(display)
    return terminal.getvalue()


def play(display: Display) -> None:
    lm = ScriptedLM(["one two"])
    lm("hello there")
    display.chosen("--model", [lm])
    for event in EVENTS:
        display.take(event)
    prediction = dspy.Prediction(answer="x", finish_reason="submitted")
    display.answered({"answer": "x"}, prediction)


def test_elsewhere_events_are_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    play(PlainDisplay())
    shown = capsys.readouterr()
    assert shown.out == "x\n"
    lines = re.sub(r"[\d.]+ s, 2 tokens", "T s, 2 tokens", shown.err).split("\n")
    assert lines == [
        "model: scripted/lm (--model)",
        "the root LM has at most 20 turns",
        "turn 1: Look [bold]first[/bold].",
        "    print(1)",
        "    llm_query_batched('abc')",
        "  llm_query: 3 calls",
        "  llm_query: answered in 1.2 s",
        "  > 1",
        r"  > evil \x1b[2J\x9b",
        "  (0.50 s, 3 sub-calls)",
        "turn 2: Fail.",
        "    1/0",
        *(f"  > {number}" for number in range(20)),
        "  > … 5 more lines",
        "  (0.00 s)",
        "no turns are left: putting the answer together",
        "Answered (2 turns, 3 sub-calls, T s, 2 tokens read, 2 written)",
        "",
    ]


def test_a_terminal_shows_every_cell_and_output(capsys: pytest.CaptureFixture[str]) -> None:
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown_live(capsys))
    for part in (
        "turn 1 ───",
        "Look [bold]first[/bold].",
        "print(1)",
        r"evil \x1b[2J\x9b",
        "… 5 more lines",
        "Answered",
    ):
        assert part in text
    assert capsys.readouterr().out == "x\n"


def test_a_terminal_is_never_sent_what_files_and_models_wrote_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert "\x1b[2J" not in shown_live(capsys)


def test_the_status_line_tells_turn_activity_time_and_tokens() -> None:
    terminal = io.StringIO()
    display = LiveDisplay(Console(file=terminal, force_terminal=True, width=100))
    with display:
        display.take(TurnStarted(3, 20))
        display.take(SubCallStarted("llm_query", 12))
        display._console.print(display._status())
    assert re.search(
        r"turn 3 of 20  ·  12 × llm_query answer  ·  [\d.]+ s, 0 tokens read, 0 written", terminal.getvalue()
    )


def test_json_shows_nothing_until_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    play(make_display(json=True))
    shown = capsys.readouterr()
    assert (shown.err, shown.out) == ("", '{\n  "answer": "x"\n}\n')


def test_without_a_terminal_lines_are_plain(capsys: pytest.CaptureFixture[str]) -> None:
    assert type(make_display(json=False)) is PlainDisplay
