"""The root LM's reply as reasoning and a cell, whether or not it follows the adapter's format."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import Any

from dspy.utils.exceptions import AdapterParseError

_BLOCK = re.compile(
    r"^[ \t]*(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[\w+-]*)[^\n`]*\n(?P<body>.*?)(?:^[ \t]*(?P=fence)[ \t]*$|\Z)",
    re.DOTALL | re.MULTILINE,
)
_CELL_LANGUAGES = frozenset({"", "python", "python3", "py", "py3", "ipython", "repl"})
_DRAFT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_MARKER = re.compile(r"\[\[ ## \w+ ## \]\]")


@dataclass(frozen=True)
class Reply:
    """What the root LM sent in a turn.

    Attributes:
        reasoning: Its words before the cell.
        code: The cell, or None when the reply held none.
    """

    reasoning: str
    code: str | None


def read_reply(reasoning: Any, code: Any) -> Reply:
    """The reply whose fields the adapter has found.

    Args:
        reasoning: The field of that name; None when it is missing.
        code: The field of that name, with or without a fence; None when it is missing.
    """
    reasoning, code = _text(reasoning), _text(code)
    cell = _unfenced(code)
    if cell:
        return Reply(reasoning.strip(), cell)
    return _read_text(reasoning)


def read_unparsed(error: AdapterParseError) -> Reply:
    """The reply that the adapter could not parse."""
    found = error.parsed_result if isinstance(error.parsed_result, dict) else {}
    if found.get("code"):
        return read_reply(found.get("reasoning"), found["code"])
    return _read_text(_text(error.lm_response))


def _read_text(text: str) -> Reply:
    text = _DRAFT.sub("", text)
    block = _first_cell(text)
    if block is None or not block["body"].strip():
        return Reply(_MARKER.sub("", text).strip(), None)
    return Reply(_MARKER.sub("", text[: block.start()]).strip(), _cell(block))


def _unfenced(code: str) -> str:
    block = _first_cell(code)
    if block is not None:
        return _cell(block)
    return "" if _BLOCK.search(code) else code.strip("\n").rstrip()


def _cell(block: re.Match[str]) -> str:
    return textwrap.dedent(block["body"]).strip("\n").rstrip()


def _first_cell(text: str) -> re.Match[str] | None:
    return next((block for block in _BLOCK.finditer(text) if block["language"].lower() in _CELL_LANGUAGES), None)


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else "" if value is None else str(value)
    return text.replace("\r\n", "\n")
