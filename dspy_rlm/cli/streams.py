"""Standard streams that a command can use whatever the caller made of them: closed, full, or of a narrow encoding."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from pathlib import Path
from typing import Literal, TextIO


def prepare_streams() -> None:
    """Make the standard streams ready to take any text.

    A stream that the caller closed becomes the null device; a character that the stream's encoding lacks is written as
    an escape, which in JSON stands for the same character.
    """
    if sys.stdin is None:
        sys.stdin = _null_device("r")
    sys.stdout, sys.stderr = _writable(sys.stdout), _writable(sys.stderr)


def flush_streams(code: int) -> int:
    """Write out what is still held back.

    Args:
        code: The exit code, should it all be written.

    Returns:
        The exit code: 1 in place of 0 when some of it could not be written, which is told on stderr.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        code = code or 1
        with contextlib.suppress(OSError):
            print(f"The answer could not be written: {error}", file=sys.stderr)
        # Python would try once more when it ends, and complain in its own way.
        sys.stdout = _null_device("w")
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    return code


def _writable(stream: TextIO | None) -> TextIO:
    if stream is None:
        return _null_device("w")
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return stream


def _null_device(mode: Literal["r", "w"]) -> TextIO:
    return Path(os.devnull).open(mode, encoding="utf-8", errors="backslashreplace")
