"""The format of a long text, told from its beginning: which line of Python reads it."""

from __future__ import annotations

import csv
import json
import math

_SAMPLE_LINES = 8
_DELIMITERS = (",", "\t", ";", "|")
_SHOWN_COLUMNS = 40


def reading_hint(name: str, beginning: str) -> str | None:
    """The statements that read the text, or None where its beginning does not show a format.

    Args:
        name: The variable that holds the text.
        beginning: The first characters of the text, a few lines if it has lines; its last line may be cut.

    Example:
        >>> reading_hint("log", 'ip,status,path\\n10.0.0.1,200,/\\n10.0.0.2,404,/x\\n10.0.0.3,')
        "import csv, io; rows = list(csv.DictReader(io.StringIO(log)))  # a dict for each row, the header line left out; keys: ip, status, path; every value is a str, float(row['status']) the number"
        >>> reading_hint("events", '{"id": 1}\\n{"id": 2}\\n{"id')
        'import json; rows = [json.loads(line) for line in events.splitlines()]'
        >>> reading_hint("letter", "Dear reader,\\n\\nonce upon a time,\\n")
    """
    whole_lines = beginning.splitlines()[:-1][:_SAMPLE_LINES]
    if _is_json_lines(whole_lines):
        return f"import json; rows = [json.loads(line) for line in {name}.splitlines()]"
    if beginning.lstrip("\ufeff \t\r\n").startswith(('{"', '[{"', "[\n", "{\n", "[[")):
        return f"import json; data = json.loads({name})"
    return _table_hint(name, whole_lines)


def _is_json_lines(lines: list[str]) -> bool:
    if len(lines) < 2:
        return False
    try:
        return all(isinstance(json.loads(line), dict | list) for line in lines)
    except ValueError:
        return False


def _table_hint(name: str, lines: list[str]) -> str | None:
    for delimiter in _DELIMITERS:
        try:
            header, *rows = csv.reader(lines, delimiter=delimiter, strict=True)
        except (ValueError, csv.Error):
            continue
        if len(rows) >= 2 and _is_header(header) and all(len(row) == len(header) for row in rows):
            option = "" if delimiter == "," else f", delimiter={delimiter!r}"
            columns = ", ".join(header[:_SHOWN_COLUMNS]) + (", …" if len(header) > _SHOWN_COLUMNS else "")
            reading = f"import csv, io; rows = list(csv.DictReader(io.StringIO({name}){option}))"
            return f"{reading}  # a dict for each row, the header line left out; keys: {columns}{_numbers_note(header, rows)}"
    return None


def _numbers_note(header: list[str], rows: list[list[str]]) -> str:
    for name, *column in zip(header, *rows, strict=True):
        if all(_is_number(cell) for cell in column):
            return f"; every value is a str, float(row[{name!r}]) the number"
    return ""


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def _is_header(cells: list[str]) -> bool:
    names = {cell.strip() for cell in cells}
    return len(cells) >= 3 and len(names) == len(cells) and all(name and not name[0].isdigit() for name in names)
