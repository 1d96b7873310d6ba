"""Typed inputs as variables, and typed outputs as what SUBMIT accepts."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import gzip
from decimal import Decimal
from typing import Any, Literal, Optional, Union

import dspy
import pytest
from dspy.primitives.sandbox_serializable import SandboxSerializable
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from dspy_rlm import RLM, UsageError
from dspy_rlm.testing import ScriptedLM

FENCE = "```python\n{}\n```".format


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Address(BaseModel):
    street: str = Field(min_length=2)
    zip_code: int = Field(ge=0, description="five digits")


class Person(BaseModel):
    name: str
    born: dt.date
    address: Address | None = None
    tags: list[str] = []


class Movie(TypedDict):
    title: str
    year: int


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.5


PERSON = Person(name="Ada", born=dt.date(1815, 12, 10), address=Address(street="High St", zip_code=12345))

# annotation, input value, what a cell sees (an expression that must be true of `a`)
INPUTS: list[tuple[Any, Any, str]] = [
    (str, "text\nwith 'quotes' and \N{SNOWMAN}", "a == \"text\\nwith 'quotes' and \\N{SNOWMAN}\""),
    (str, "x" * 200_000, "len(a) == 200_000 and set(a) == {'x'}"),
    (str, "\ud800 lone", "len(a) == 6"),
    (int, 10**30, "a == 10**30"),
    (float, 0.1, "a == 0.1"),
    (float, float("inf"), "a == float('inf')"),
    (bool, True, "a is True"),
    (Optional[int], None, "a is None"),
    (Literal["a", "b"], "b", "a == 'b'"),
    (Color, Color.RED, "a == 'red'"),
    (list[int], list(range(1000)), "a == list(range(1000))"),
    (dict[str, list[int]], {"k": [1, 2]}, "a == {'k': [1, 2]}"),
    (dict[int, str], {1: "one"}, "a == {1: 'one'}"),
    (tuple[int, str], (1, "one"), "a == (1, 'one')"),
    (set[int], {1, 2}, "a == {1, 2}"),
    (dt.date, dt.date(2024, 2, 29), "a.year == 2024 and a.isoformat() == '2024-02-29'"),
    (dt.datetime, dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC), "a.isoformat() == '2024-02-29T12:00:00+00:00'"),
    (dt.timedelta, dt.timedelta(hours=3), "a.total_seconds() == 10800"),
    (Decimal, Decimal("1.10"), "str(a) == '1.10'"),
    (bytes, b"\x00\xff", "a == b'\\x00\\xff'"),
    (bytes, b"ab" * 100_000, "len(a) == 200_000 and a[-1:] == b'b'"),
    (Person, PERSON, "a['address']['zip_code'] == 12345 and a['born'].year == 1815"),
    (list[Person], [PERSON] * 3, "len(a) == 3 and a[2]['name'] == 'Ada'"),
    (Point, Point(3), "a == {'x': 3, 'y': 0.5}"),
    (dict[str, Point], {"p": Point(3)}, "a['p']['x'] == 3"),
    (Any, {"any": [1, None, {2.5}]}, "a == {'any': [1, None, {2.5}]}"),
]


def _task(**fields: Any) -> type[dspy.Signature]:
    kinds = {name: (kind, dspy.InputField() if name == "a" else dspy.OutputField()) for name, kind in fields.items()}
    return dspy.Signature(kinds, "Do it.")


@pytest.mark.parametrize(("annotation", "value", "expression"), INPUTS, ids=lambda value: str(value)[:30])
def test_inputs_of_every_type_are_variables(annotation, value, expression):
    with dspy.context(lm=ScriptedLM([FENCE(f"SUBMIT({expression})")])):
        prediction = RLM(_task(a=annotation, b=bool), max_iters=1)(a=value)
    assert prediction.b is True
    assert prediction.finish_reason == "submitted"


# annotation, the argument of SUBMIT as written in a cell, the typed output
OUTPUTS: list[tuple[Any, str, Any]] = [
    (str, "'x'", "x"),
    (str, "12", "12"),
    (int, "12", 12),
    (int, "'12'", 12),
    (int, "12.0", 12),
    (float, "1", 1.0),
    (bool, "True", True),
    (Optional[int], "None", None),
    (Union[int, str], "'x'", "x"),
    (Union[int, str], "3", 3),
    (Literal["bug", "other"], "'bug'", "bug"),
    (Literal["bug", "other"], "'bug\\n'", "bug"),
    (Literal["bug", "other"], "'\"bug\"'", "bug"),
    (Literal[1, 2], "2", 2),
    (Color, "'blue'", Color.BLUE),
    (Color, "'BLUE'", Color.BLUE),
    (Optional[Color], "'BLUE'", Color.BLUE),
    (list[Color], "['`red`'.strip('`')]", [Color.RED]),
    (Color, "'`red`'", Color.RED),
    (Movie, "{'title': 'M', 'year': '1931'}", {"title": "M", "year": 1931}),
    (list[int], "[1, '2']", [1, 2]),
    (list[int], "(1, 2)", [1, 2]),
    (list[int], "range(3)", [0, 1, 2]),
    (list[str], "{'k': 1}.keys()", ["k"]),
    (dict[str, int], "{'a': 1}", {"a": 1}),
    (dict[str, int], "{'b': 1}", {"b": 1}),
    (dict[str, int], "Counter('aab')", {"a": 2, "b": 1}),
    (dict[int, str], "{1: 'a'}", {1: "a"}),
    (tuple[int, str], "(1, 'a')", (1, "a")),
    (set[int], "{1, 2}", {1, 2}),
    (set[int], "[1, 2, 2]", {1, 2}),
    (frozenset[str], "frozenset('ab')", frozenset("ab")),
    (dt.date, "dt.date(2024, 2, 29)", dt.date(2024, 2, 29)),
    (dt.date, "'2024-02-29'", dt.date(2024, 2, 29)),
    (dt.datetime, "dt.datetime(2024, 2, 29, 1)", dt.datetime(2024, 2, 29, 1)),
    (dt.timedelta, "dt.timedelta(days=1)", dt.timedelta(days=1)),
    (Decimal, "Decimal('1.10')", Decimal("1.10")),
    (Decimal, "'1.10'", Decimal("1.10")),
    (bytes, "b'\\x00a'", b"\x00a"),
    (Person, "{'name': 'Ada', 'born': dt.date(1815, 12, 10)}", Person(name="Ada", born=dt.date(1815, 12, 10))),
    (Person, "{'name': 'Ada', 'born': '1815-12-10', 'address': {'street': 'High St', 'zip_code': '12345'}}", PERSON),
    (list[Person], "[{'name': 'A', 'born': '1815-12-10'}]", [Person(name="A", born=dt.date(1815, 12, 10))]),
    (Point, "{'x': 1}", Point(1)),
    (Point, "P(1, 2.5)", Point(1, 2.5)),
    (Any, "{'a': [1, (2,)]}", {"a": [1, (2,)]}),
    (float, "float('inf')", float("inf")),
    (int, "10**40", 10**40),
]
SETUP = """\
import datetime as dt
from decimal import Decimal
from collections import Counter
from dataclasses import dataclass
@dataclass
class P:
    x: int
    y: float
"""


@pytest.mark.parametrize(("annotation", "argument", "expected"), OUTPUTS, ids=lambda value: str(value)[:40])
@pytest.mark.parametrize(
    "form", ["SUBMIT({})", "SUBMIT(b={})", "SUBMIT({{'b': {}}})"], ids=["position", "name", "dict"]
)
def test_outputs_of_every_type_are_accepted(annotation, argument, expected, form):
    if form.startswith("SUBMIT({{") and annotation is Any:
        return  # a dict with the output's name is the output by name
    with dspy.context(lm=ScriptedLM([FENCE(SETUP + form.format(argument))])):
        prediction = RLM(_task(a=str, b=annotation), max_iters=1)(a="x")
    assert prediction.finish_reason == "submitted"
    assert prediction.b == expected
    assert type(prediction.b) is type(expected)


REFUSED: list[tuple[Any, str, str]] = [
    (int, "'many'", "b: expected int, got str 'many'"),
    (int, "1.5", "b: expected int, got float 1.5"),
    (Literal["bug", "other"], "'feature'", "b: expected 'bug' | 'other', got str 'feature'"),
    (Color, "'green'", "b: expected 'red' | 'blue', got str 'green'"),
    (list[int], "[1, 'x']", "at [1]: "),
    (list[Color], "'RED'", "b: expected list['red' | 'blue'], got str 'RED'"),
    (Person, "{'name': 'Ada'}", "at born: missing"),
    (Person, "{'name': 'A', 'born': '1815-12-10', 'address': {'street': 'x', 'zip_code': -1}}", "at address.street: "),
    (dt.date, "'yesterday'", "b: expected date"),
]


@pytest.mark.parametrize(("annotation", "argument", "part"), REFUSED, ids=lambda value: str(value)[:40])
def test_a_refused_submission_tells_field_expectation_and_value_and_the_run_goes_on(annotation, argument, part):
    replies = [FENCE(f"SUBMIT({argument})\nprint('not reached')"), "[[ ## b ## ]]\nnothing", "[[ ## b ## ]]\nnothing"]
    with dspy.context(lm=ScriptedLM(replies)), pytest.raises(Exception, match="none could be extracted") as caught:
        RLM(_task(a=str, b=annotation), max_iters=1)(a="x")
    (step,) = caught.value.trajectory
    assert step.error.startswith("SubmissionRefusedError: SUBMIT was refused")
    assert part in step.output
    assert "not reached" not in step.output.replace("print('not reached')", "")


@pytest.mark.parametrize(
    ("call", "part"),
    [
        ("SUBMIT()", "missing"),
        ("SUBMIT(1)", "missing"),
        ("SUBMIT(1, 2, 3)", "3 values were given for 2 outputs"),
        ("SUBMIT(x=1, y=2, z=3)", "z"),
        ("SUBMIT(1, x=1, y=2)", "x: given twice"),
        ("SUBMIT({'x': 1})", "missing"),
        ("SUBMIT(x=open_handle, y=2)", "NameError"),
        ("SUBMIT(x=(i for i in 'a'), y=2)", "generator"),
        ("SUBMIT(x=lambda: 1, y=2)", "function"),
    ],
)
def test_a_submission_of_the_wrong_shape_is_an_error_at_its_line(run, cell, call, part):
    rlm = RLM("a -> x: int, y: int")
    prediction, _ = run(rlm, [cell(f"'first line'\n{call}"), cell("SUBMIT(1, 2)")], a="x")
    assert prediction.trajectory[0].error
    assert part in prediction.trajectory[0].output
    assert (prediction.x, prediction.y) == (1, 2)


def test_no_except_clause_swallows_an_accepted_submission(run, cell):
    code = "try:\n    SUBMIT(1)\nexcept:\n    pass\nfinally:\n    print('still here')\nSUBMIT(2)"
    prediction, _ = run(RLM("a -> b: int"), [cell(code)], a="x")
    assert prediction.b == 1


def test_a_refused_submission_can_be_caught_and_corrected_in_the_cell(run, cell):
    code = "try:\n    SUBMIT('one')\nexcept ValueError as e:\n    SUBMIT(1)"
    prediction, _ = run(RLM("a -> b: int"), [cell(code)], a="x")
    assert prediction.b == 1


@pytest.mark.parametrize("call", ["FINAL(a * 2)", "b = a * 2\nFINAL_VAR('b')", "b = a * 2\nFINAL_VAR(b)"])
def test_what_rlm_trained_models_write_submits_too(run, cell, call):
    prediction, _ = run(RLM("a: int -> b: int"), [cell(call)], a=3)
    assert prediction.b == 6


def test_what_a_cell_printed_before_submitting_is_kept(run, cell):
    prediction, _ = run(RLM("a -> b: int"), [cell("print('counting')\nSUBMIT(1)")], a="x")
    assert prediction.trajectory[0].output == "counting\nSubmitted: b=1"


def test_a_path_given_for_a_text_is_that_files_text(tmp_path, run, cell):
    path = tmp_path / "log.txt"
    path.write_bytes(b"caf\xc3\xa9 " + b"x" * 100_000 + b" end")
    prediction, lm = run(RLM("log -> n: int, end"), [cell("SUBMIT(len(log), log[:4] + log[-5:])")], log=path)
    assert (prediction.n, prediction.end) == (100_009, "caféx end")
    assert "log: str, 100,010 bytes of text, already set" in lm.calls[0][-1]["content"]


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (gzip.compress("größer\n".encode() * 200), "größer\n" * 200),
        ("Größe ändern über Straße\n".encode("latin-1") * 200, "Größe ändern über Straße\n" * 200),
        ("größer\n".encode("utf-16"), "größer\n"),
        (b"\xef\xbb\xbfa\r\nb", "a\r\nb"),
    ],
    ids=["gzip", "latin-1", "utf-16", "utf-8 with a mark"],
)
def test_a_path_of_a_compressed_or_older_text_is_its_text(tmp_path, run, cell, raw, text):
    path = tmp_path / "log"
    path.write_bytes(raw)
    prediction, lm = run(RLM("a -> b"), [cell("SUBMIT(a)")], a=path)
    assert prediction.b == text
    assert text[:1] in lm.calls[0][-1]["content"].split("a: str", 1)[1][:80]
    prediction, lm = run(RLM("a: list[str] -> b"), [cell("SUBMIT(a[0])")], a=[path])
    assert prediction.b == text


def test_paths_in_a_container_are_shown_as_the_texts_they_are(tmp_path, run, cell):
    for name, text in (("a", "first text"), ("b", "second " * 1_000)):
        (tmp_path / name).write_text(text)
    texts = {name: tmp_path / name for name in "ab"}
    prediction, lm = run(RLM("a: dict[str, str] -> b: int"), [cell("SUBMIT(len(a['b']))")], a=texts)
    told = lm.calls[0][-1]["content"]
    assert prediction.b == 7_000
    assert "a': 'first text'" in told
    assert "second second" in told and "PosixPath" not in told


@pytest.mark.parametrize("value", [b"\x00\x01\xff\xfe" * 1_000, b"\x1f\x8b broken"])
def test_a_path_of_no_text_is_refused_before_any_lm_call(tmp_path, value):
    path = tmp_path / "image"
    path.write_bytes(value)
    for inputs in (path, [path]):
        with dspy.context(lm=ScriptedLM([])), pytest.raises(UsageError, match="image"):
            RLM(_task(a=Any, b=str))(a=inputs)


def test_a_path_that_is_no_file_is_refused_before_any_lm_call(tmp_path):
    with dspy.context(lm=ScriptedLM([])), pytest.raises(UsageError, match="which is no file"):
        RLM("log -> n: int")(log=tmp_path / "missing.txt")


def test_a_large_input_costs_no_prompt(run, cell):
    _, lm = run(RLM("log -> n: int"), [cell("SUBMIT(len(log))")], log="line of a log\n" * 500_000)
    assert sum(len(message["content"]) for message in lm.calls[0]) < 6_000


def test_a_serializable_value_is_set_up_by_its_own_protocol(run, cell):
    class Table(SandboxSerializable):
        def __init__(self, rows: list[int]) -> None:
            self.rows = rows

        def sandbox_setup(self) -> str:
            return "import json"

        def to_sandbox(self) -> bytes:
            return str(self.rows).encode()

        def sandbox_assignment(self, var_name: str, data_expr: str) -> str:
            return f"{var_name} = json.loads({data_expr})"

        def rlm_preview(self, max_chars: int = 500) -> str:
            return f"{len(self.rows)} rows"

    prediction, lm = run(RLM(_task(a=Any, b=int)), [cell("SUBMIT(sum(a))")], a=Table([1, 2, 3]))
    assert prediction.b == 6
    assert "a: Table" in lm.calls[0][-1]["content"] and "3 rows" in lm.calls[0][-1]["content"]


class Handle:
    """An object of the host's own."""


def test_an_input_that_cannot_travel_is_refused_before_any_lm_call(run):
    with pytest.raises(UsageError, match="the input a: Handle of"):
        run(RLM(_task(a=Any, b=int)), [], a=Handle())


def test_inputs_that_a_cell_changed_are_back_in_the_next(run, cell):
    prediction, _ = run(RLM("a -> b"), [cell("a = 'changed'\ndel llm_query"), cell("llm_query\nSUBMIT(a)")], a="given")
    assert prediction.b == "given"
