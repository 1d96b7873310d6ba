"""Output and values are bounded where they arise."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dspy_rlm.sandbox.formatting import PrintSink, bounded_repr
from dspy_rlm.sandbox.formatting_templates import Formatter, template_refusal


@given(st.lists(st.text(max_size=40), max_size=30), st.integers(0, 60))
def test_the_sink_keeps_head_tail_and_true_length(pieces, limit):
    sink = PrintSink(limit)
    for piece in pieces:
        sink.write(piece)
    text = "".join(pieces)
    output = sink.output()
    assert output.length == len(text)
    if len(text) <= limit:
        assert (output.head, output.tail) == (text, "")
    else:
        assert len(output.head) + len(output.tail) == limit
        assert text.startswith(output.head)
        assert text.endswith(output.tail)


def test_gigabytes_printed_stay_bounded_in_the_sink():
    sink = PrintSink(1_000)
    piece = "x" * 1_000_000
    for _ in range(2_000):
        sink.write(piece)
    assert sink.output().length == 2_000_000_000
    assert sum(map(len, sink._kept)) + sum(map(len, sink._tail)) <= 4_000


_values = st.recursive(
    st.none() | st.integers() | st.text() | st.binary() | st.floats(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
)


@given(_values, st.integers(10, 200))
def test_a_value_of_ordinary_size_is_its_repr(value, limit):
    shown = bounded_repr(value, limit)
    full = repr(value)
    assert shown.length == len(full)
    assert full.startswith(shown.head) and full.endswith(shown.tail)


def test_a_huge_list_is_shown_by_its_ends_and_its_count():
    text = bounded_repr(list(range(1_000_000)), 10_000)
    assert text.head.startswith("[0, 1, 2") and text.head.endswith("999999]") and "1,000,000 items" in text.head


def test_huge_text_inside_a_container_is_not_built_whole():
    shown = bounded_repr({"log": "x" * 5_000_000, "n": [1]}, 2_000)
    assert shown.length < 3_000 and "5,000,000 characters" in shown.head


def test_a_template_may_read_public_attributes_only():
    assert template_refusal("{0.x:{1.y}} {a[b.c]} {{0.__class__}}") is None
    for template in ("{0.__class__}", "{a[0].__dict__}", "{:{0.__class__}}", "{0._x}", "{0.format}"):
        assert template_refusal(template) is not None


@given(st.text(alphabet="{}:!r0a.[]x_ ", max_size=12))
def test_the_formatter_agrees_with_str_format(template):
    values = {"args": ([1, 2], "s"), "kwargs": {"a": 3, "x": [4]}}

    def result(function):
        try:
            return function(template, *values["args"], **values["kwargs"])
        except (ValueError, KeyError, IndexError, AttributeError, TypeError) as error:
            return type(error)

    ours, plain = result(Formatter().format), result(str.format)
    assert ours == plain or isinstance(ours, type) or isinstance(plain, type)
