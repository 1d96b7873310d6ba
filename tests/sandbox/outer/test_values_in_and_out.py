"""Values cross the wall unchanged, large ones as memory files."""

from __future__ import annotations

import datetime
from collections import deque
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspy_rlm.sandbox import wire
from dspy_rlm.sandbox.transport import Packer, unpack

_SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec=None))
    | st.binary() | st.complex_numbers(allow_nan=False) | st.dates() | st.datetimes() | st.times() | st.timedeltas()
    | st.decimals(allow_nan=False) | st.fractions() | st.uuids()
)  # fmt: skip
_KEYS = st.text() | st.integers() | st.tuples(st.integers(), st.text())
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(_KEYS, inner) | st.sets(_KEYS, max_size=1)
    ),
    max_leaves=20,
)


@given(_VALUES)
@settings(max_examples=200, deadline=None)
def test_a_value_survives_the_way_to_the_host(value):
    decoded = wire.decode(wire.encode(value))
    assert decoded == value and repr(decoded) == repr(value)


@given(_VALUES)
@settings(max_examples=100, deadline=None)
def test_a_value_survives_the_way_to_the_worker(value):
    packer = Packer(dict)
    assert unpack(packer.pack(value), deque(packer.fds)) == value


@pytest.mark.parametrize(
    "value",
    [
        "añ…😀\ud800" * 100_000,
        "x" * (1 << 23),
        b"\x00\xff" * 100_000,
        [{"n": n, "text": str(n) * 50} for n in range(2_000)],
        ["y" * 100_000] * 3,
    ],
    ids=["wide text", "long text", "bytes", "many records", "long texts in a list"],
)
def test_large_values_go_by_memory_file(value):
    packer = Packer(dict)
    packed = packer.pack(value)
    assert len(packer.fds) == 1
    assert unpack(packed, deque(packer.fds)) == value


@pytest.mark.parametrize("data", [b"", b"{", b'{"#":"nonsense","v":1}', b'{"#":"set","v":[[]]}', b'{"#":"date","v":"x"}',
                                  b"\xff", b'{"#":[],"v":1}', b'{"#":"int"}', b"[" * 100_000])  # fmt: skip
def test_bytes_that_are_no_value_are_refused(data):
    with pytest.raises(ValueError, match="."):
        wire.decode(data)


def test_a_dict_that_looks_like_a_tag_stays_a_dict():
    assert wire.decode(wire.encode({"#": "set", "v": [1]})) == {"#": "set", "v": [1]}


def test_values_keep_their_kind_in_the_sandbox(session, shown):
    zoned = datetime.datetime(2025, 7, 1, 12, tzinfo=datetime.UTC)
    value = [(1, 2), {3}, frozenset({4}), b"x", zoned, Decimal("1.5"), Fraction(1, 3), UUID(int=1), 1j, {(1,): None}]
    session.bind({"value": value, "echo": lambda item: item == value and repr(item)})
    assert shown(session, "echo(value) == repr(value)") == "True"


def test_a_path_is_the_text_of_its_file(session, shown, tmp_path):
    path = tmp_path / "log.txt"
    path.write_bytes("héllo…\r\n".encode() * 100_000 + b"\xff")
    session.bind({"log": path})
    assert shown(session, "len(log), log[:8], log[-1]") == repr((800_001, "héllo…\r\n", "\ufffd"))


def test_a_large_value_may_come_after_the_first_cell(session, shown):
    session.run_cell("1")
    session.bind({"late": "añ…😀" * 100_000, "texts": ["x" * 100_000] * 3, "raw": b"x" * 100_000, "log": "x" * 100_000})
    assert shown(session, "len(late), len(texts[2]), len(raw), len(log)") == "(400000, 100000, 100000, 100000)"
