"""The root LM's reply as reasoning and a cell, whether or not it follows the adapter's format."""

from __future__ import annotations

import ast
import html
import json
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
_MARKER = re.compile(r"\[\[ ## \w+ ## \]\]|</?(?:reasoning|code)>")
# The field as the adapters write it, for a reply that follows another one's format, or its own not quite.
_CODE_FIELD = re.compile(r"<code>(?P<body>.*)</code>|\[\[ ## code ## \]\](?P<rest>.*?)(?:\[\[ ## |\Z)", re.DOTALL)


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
    reply = _read_text(_text(error.lm_response))
    return reply if reply.code is None else Reply(reply.reasoning, _without_entities(reply.code))


def _read_text(text: str) -> Reply:
    text = _DRAFT.sub("", text)
    fields = _json_fields(text)
    if fields is not None:
        return Reply(_text(fields.get("reasoning")).strip(), _unfenced(_text(fields["code"])) or None)
    block = _first_cell(text)
    if block is not None and (code := _cell(block)):
        return Reply(_MARKER.sub("", text[: block.start()]).strip(), code)
    field = None if block else _CODE_FIELD.search(text)
    if field is not None and (code := _bare(field["body"] or field["rest"] or "")):
        return Reply(_MARKER.sub("", text[: field.start()]).strip(), code)
    return Reply(_MARKER.sub("", text).strip(), None)


def _json_fields(text: str) -> dict[str, Any] | None:
    """The fields of a reply that is a JSON object with a cell in it, which some LMs send whatever they were asked for."""
    fenced = re.fullmatch(r"\s*```json\s*\n(.*?)\n\s*```\s*", text, re.DOTALL)
    try:
        found = json.loads(fenced[1] if fenced else text, strict=False)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("code"), str) else None


def _without_entities(code: str) -> str:
    """The cell without XML's entities, where these are what keeps it from being Python."""
    plain = html.unescape(code)
    return plain if plain != code and not _is_python(code) and _is_python(plain) else code


def _is_python(code: str) -> bool:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _unfenced(code: str) -> str:
    block = _first_cell(code)
    if block is not None:
        return _cell(block)
    return "" if _BLOCK.search(code) else _bare(code)


def _cell(block: re.Match[str]) -> str:
    return _bare(textwrap.dedent(block["body"]))


def _bare(code: str) -> str:
    # An adapter that reads a missing value as text makes one of these of it.
    return "" if code.strip() in ("None", "null") else code.strip("\n").rstrip()


def _first_cell(text: str) -> re.Match[str] | None:
    return next((block for block in _BLOCK.finditer(text) if block["language"].lower() in _CELL_LANGUAGES), None)


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else "" if value is None else str(value)
    return text.replace("\r\n", "\n")
