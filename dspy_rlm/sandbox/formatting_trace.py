"""Traces for the model: its own cells' lines only, with chained exceptions and groups."""

from __future__ import annotations

from types import CodeType
from typing import NamedTuple

from .guards import CELL_FILE
from .policy_names import ABSENT_BUILTINS

_MAX_MESSAGE = 2_000
_MAX_FRAMES = 12
_MAX_DEPTH = 6

# Source lines of the cells that ran, by file name.
SOURCES: dict[str, list[str]] = {}


class Frame(NamedTuple):
    """One frame of a cell: its file name, line number, the line's text and the function."""

    file: str
    line: int
    text: str
    function: str


def own_frames(error: BaseException) -> list[Frame]:
    """List the frames of an exception's traceback that run code of cells, outermost first."""
    frames: list[Frame] = []
    step = error.__traceback__
    while step is not None:
        code: CodeType = step.tb_frame.f_code
        if code.co_filename.startswith(CELL_FILE):
            lines = SOURCES.get(code.co_filename, [])
            text = lines[step.tb_lineno - 1].strip() if 0 < step.tb_lineno <= len(lines) else ""
            frames.append(Frame(code.co_filename, step.tb_lineno, text, code.co_qualname))
        step = step.tb_next
    return frames


def message_of(error: BaseException) -> str:
    """Give an exception's message, cut to 2,000 characters, with a hint where a builtin is missing."""
    try:
        message = str(error)
    except Exception as broken:  # a cell's class may raise anything here, and it is said so
        return f"<its message cannot be shown: {type(broken).__name__}>"
    if isinstance(error, NameError) and error.name in ABSENT_BUILTINS:
        message = f"{message}: {ABSENT_BUILTINS[error.name]}"
    if len(message) > _MAX_MESSAGE:
        message = f"{message[:_MAX_MESSAGE]}… [{len(message) - _MAX_MESSAGE:,} characters cut]"
    return message


def describe(error: BaseException) -> str:
    """Give the last line of a trace: class and message."""
    message = message_of(error)
    notes = "".join(f"\n{note}" for note in getattr(error, "__notes__", ()) if isinstance(note, str))
    return (f"{type(error).__name__}: {message}" if message else type(error).__name__) + notes


def _frame_lines(error: BaseException) -> list[str]:
    lines: list[str] = []
    frames = own_frames(error)
    skipped = len(frames) - _MAX_FRAMES
    if skipped > 0:
        frames = frames[: _MAX_FRAMES // 2] + frames[-_MAX_FRAMES // 2 :]
    for position, frame in enumerate(frames):
        if skipped > 0 and position == _MAX_FRAMES // 2:
            lines.append(f"  … {skipped:,} more frames …")
        place = "" if frame.function == "<module>" else f", in {frame.function}"
        lines.append(f"  {frame.file}, line {frame.line}{place}")
        if frame.text:
            lines.append(f"    {frame.text}")
    return lines


def format_trace(error: BaseException | None, *, _depth: int = 0, _seen: frozenset[int] = frozenset()) -> str:
    """Format an exception with its causes and, for a group, the exceptions in it.

    Args:
        error: The exception.

    Returns:
        The trace, ending in a line end.
    """
    if error is None or id(error) in _seen or _depth > _MAX_DEPTH:
        return ""
    seen = _seen | {id(error)}
    text = ""
    if error.__cause__ is not None:
        text += format_trace(error.__cause__, _depth=_depth + 1, _seen=seen)
        text += "\nThe above exception was the direct cause of the following exception:\n\n"
    elif error.__context__ is not None and not error.__suppress_context__:
        text += format_trace(error.__context__, _depth=_depth + 1, _seen=seen)
        text += "\nDuring handling of the above exception, another exception occurred:\n\n"
    text += (
        "\n".join(
            [
                "Traceback (most recent call last):",
                *_frame_lines(error),
                describe(error),
            ]
        )
        + "\n"
    )
    if isinstance(error, BaseExceptionGroup):
        for number, member in enumerate(error.exceptions[:_MAX_FRAMES], 1):
            inner = format_trace(member, _depth=_depth + 1, _seen=seen)
            text += f"  +- {number} of {len(error.exceptions)}\n" + "".join(
                f"  |  {line}" for line in inner.splitlines(keepends=True)
            )
    return text
