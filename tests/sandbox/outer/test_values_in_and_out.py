"""Values cross the wall unchanged, large ones as memory files."""

from __future__ import annotations

import datetime
from collections import UserDict, deque
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspy_rlm.sandbox import wire
from dspy_rlm.sandbox.interpreter import RestrictedInterpreter
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


class _Text(str):
    __slots__ = ()


class _Number(int): ...


class _Items(list): ...


class _Moment(datetime.datetime): ...


class _Day(datetime.date): ...


class _Settings(UserDict): ...


class _Hit(NamedTuple):
    ip: str
    count: _Number


_OF_OWN_CLASSES = {
    "text": (_Text("a"), "a"),
    "long text": (_Text("a" * 100_000), "a" * 100_000),
    "number": (_Number(3), 3),
    "list": (_Items([_Text("a"), _Items([1])]), ["a", [1]]),
    "key": ({_Text("a"): _Number(1)}, {"a": 1}),
    "datetime": (_Moment(2025, 1, 2, 3, tzinfo=datetime.UTC), datetime.datetime(2025, 1, 2, 3, tzinfo=datetime.UTC)),
    "date": (_Day(2025, 1, 2), datetime.date(2025, 1, 2)),
    "mapping": (_Settings(a=1), {"a": 1}),
    "read-only mapping": (MappingProxyType({"a": {1}}), {"a": {1}}),
    "keys": ({"a": 1}.keys(), ["a"]),
}


@pytest.mark.parametrize("case", _OF_OWN_CLASSES)
def test_a_value_of_a_class_of_ones_own_is_the_nearest_builtin_in_the_sandbox(case, session, shown):
    value, plain = _OF_OWN_CLASSES[case]
    session.bind({"value": value, "tool": lambda: value, "plain": plain})
    assert shown(session, "[(x == plain, type(x).__name__) for x in (value, tool())]") == repr(
        [(True, type(plain).__name__)] * 2
    )


def test_a_named_tuple_keeps_its_fields_in_the_sandbox(session, shown):
    hits = [_Hit("10.0.0.1", _Number(2)), _Hit("10.0.0.2", _Number(3))]
    session.bind({"hits": hits, "tool": lambda: hits[0], "same": lambda hit: hit == hits[0] and type(hit) is tuple})
    assert shown(session, "hits[1], hits[1].count + 1, tool().ip, tool()[1], hits[0]._asdict(), same(hits[0])") == (
        "(_Hit(ip='10.0.0.2', count=3), 4, '10.0.0.1', 2, {'ip': '10.0.0.1', 'count': 2}, True)"
    )


def test_an_object_that_has_no_nearest_builtin_is_refused_by_name():
    with pytest.raises(TypeError, match=r"log: generator of .* cannot go into the sandbox: pass text"):
        RestrictedInterpreter().bind({"log": (line for line in "ab")})


def test_a_path_is_the_text_of_its_file(session, shown, tmp_path):
    path = tmp_path / "log.txt"
    path.write_bytes("héllo…\r\n".encode() * 100_000 + b"\xff")
    session.bind({"log": path})
    assert shown(session, "len(log), log[:8], log[-1]") == repr((800_001, "héllo…\r\n", "\ufffd"))


@pytest.mark.parametrize("text", ["", "ab\r\n" * 3_000_000, "ab\n" * 3_000_000 + "é" + "x" * 100_000, "é"])
def test_the_text_of_a_file_is_the_same_wherever_it_stops_being_ascii(text, session, tmp_path):
    path = tmp_path / "log.txt"
    path.write_bytes(text.encode())
    session.bind({"log": path, "text": text})
    assert session.execute("log == text") == "True"


def test_a_large_value_may_come_after_the_first_cell(session, shown):
    session.run_cell("1")
    session.bind({"late": "añ…😀" * 100_000, "texts": ["x" * 100_000] * 3, "raw": b"x" * 100_000, "log": "x" * 100_000})
    assert shown(session, "len(late), len(texts[2]), len(raw), len(log)") == "(400000, 100000, 100000, 100000)"
