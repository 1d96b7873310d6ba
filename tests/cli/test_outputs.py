import datetime
import decimal
import json
import math
from enum import Enum
from typing import Any, Literal, Optional

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from dspy_rlm.cli.outputs import DEFAULT_OUTPUT, as_json, as_text, parse_outputs


class Color(Enum):
    RED = "red"


class Point(BaseModel):
    x: int


@pytest.mark.parametrize(
    ("text", "outputs"),
    [
        (DEFAULT_OUTPUT, {"answer": str}),
        ("ip: str, requests: int", {"ip": str, "requests": int}),
        ("ip,requests:int,", {"ip": str, "requests": int}),
        ("names: list[str]", {"names": list[str]}),
        ("by_day: dict[date, float]", {"by_day": dict[datetime.date, float]}),
        ("pair: tuple[int, ...]", {"pair": tuple[int, ...]}),
        ("kind: Literal['a', 'b,c', 3]", {"kind": Literal["a", "b,c", 3]}),
        ("amount: Decimal | None", {"amount": Optional[decimal.Decimal]}),
        ("seen: Optional[bool]", {"seen": Optional[bool]}),
        ("rows: list[dict[str, Any]]", {"rows": list[dict[str, Any]]}),
        ("names: List[str]", {"names": list[str]}),
    ],
)
def test_names_and_types_are_read(text: str, outputs: dict[str, Any]) -> None:
    assert parse_outputs(text) == outputs


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "names no output"),
        ("a b", "not a list of names and types"),
        ("a: str b: int", "not a list of names and types"),
        ("1a: str", "not a list of names and types"),
        ("a: str, a: int", "'a' comes twice"),
        ("a: string", "'string' is no type"),
        ("a: list[strr]", "'strr' is no type"),
        ("a: int(3)", "no type"),
        ("a: __import__('os').system('true')", "no type"),
        ("class: str", "'class' is a word of Python's own"),
        ("a: int = 3", "neither stars nor defaults"),
        ("a, **b", "neither stars nor defaults"),
        ("a): pass\nimport os\ndef f(b", "not a list of names and types"),
        ("a) -> (int", "not a list of names and types"),
        ("a: Literal[x]", "plain values"),
        ("a: int[str]", "cannot have these parts"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(typer.BadParameter, match="cannot be read") as refusal:
        parse_outputs(text)
    assert why in refusal.value.message


@given(st.text())
def test_any_text_is_either_read_or_refused(text: str) -> None:
    try:
        assert parse_outputs(text)
    except typer.BadParameter:
        pass


def test_a_single_text_is_printed_as_it_is() -> None:
    assert as_text({"answer": 'say "no"\n'}) == 'say "no"\n'


def test_a_single_value_is_printed_as_json() -> None:
    assert as_text({"names": ["é", None, True]}) == '["é",null,true]'


def test_several_outputs_are_printed_a_line_each() -> None:
    assert as_text({"ip": "::1", "requests": 3}) == "ip: ::1\nrequests: 3"


def test_typed_values_become_json() -> None:
    values = {
        "day": datetime.date(2026, 1, 2),
        "amount": decimal.Decimal("1.50"),
        "color": Color.RED,
        "point": Point(x=1),
        "raw": b"\xff",
        "seen": {3},
        "umlaut": "ü",
        "half": "\ud800",
        "numbers": [math.nan, -math.inf, 1.5],
    }
    assert json.loads(as_json(values)) == {
        "day": "2026-01-02",
        "amount": "1.50",
        "color": "red",
        "point": {"x": 1},
        "raw": "_w==",
        "seen": [3],
        "umlaut": "ü",
        "half": "\ud800",
        "numbers": ["NaN", "-Infinity", 1.5],
    }
