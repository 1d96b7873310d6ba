import codecs
import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dspy_rlm.reading import NotTextError, decoded, is_plain_utf8

# Text proper: no zero characters, which are what tells binary files apart.
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff"))


@given(texts)
def test_utf8_is_read_as_it_is(text: str) -> None:
    assert decoded(text.encode()) == text


@given(texts, st.sampled_from(["utf-8-sig", "utf-16", "utf-32"]))
def test_a_byte_order_mark_tells_the_encoding_and_is_no_part_of_the_text(text: str, encoding: str) -> None:
    assert decoded(text.encode(encoding)) == text


@pytest.mark.parametrize("order", ["le", "be"])
@pytest.mark.parametrize("width", ["16", "32"])
def test_both_byte_orders_are_read(width: str, order: str) -> None:
    mark = getattr(codecs, f"BOM_UTF{width}_{order.upper()}")
    assert decoded(mark + "größer".encode(f"utf-{width}-{order}")) == "größer"


@given(texts)
def test_gzip_is_told_by_its_first_bytes(text: str) -> None:
    assert decoded(gzip.compress(text.encode(), compresslevel=1)) == text


def test_line_ends_stay_as_they_are() -> None:
    assert decoded(b"a\r\nb\rc\n") == "a\r\nb\rc\n"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("café crème", "cp1252"),
        ("naïve résumé of the façade, déjà vu. " * 20, "latin-1"),
        ("“smart” quotes – and dashes… it’s a café\n" * 20, "cp1252"),
        ("Привет, мир! Как дела? " * 20, "cp1251"),
        ("Zażółć gęślą jaźń, proszę państwa, w Łodzi. " * 20, "cp1250"),
        ("こんにちは世界。今日はいい天気ですね。" * 20, "shift_jis"),
        ("中文文本测试内容，很多字。" * 20, "gb18030"),
        ("plain words, no mark", "utf-16-le"),
        ("plain words, no mark", "utf-16-be"),
    ],
)
def test_older_encodings_are_recognized(text: str, encoding: str) -> None:
    assert decoded(text.encode(encoding)) == text


def test_a_damaged_byte_in_utf8_costs_one_character_and_not_the_encoding() -> None:
    assert decoded("Grüße, schöne Straße".encode() + b"\xff!") == "Grüße, schöne Straße\ufffd!"


@pytest.mark.parametrize(
    "raw", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"\x7fELF\x02\x01\x01\0\0\0\0\0", bytes(range(256)) * 9]
)
def test_binary_is_refused(raw: bytes) -> None:
    with pytest.raises(NotTextError, match="binary"):
        decoded(raw)


def test_damaged_gzip_is_refused() -> None:
    with pytest.raises(NotTextError, match="damaged gzip"):
        decoded(gzip.compress(b"text " * 100)[:-9])


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        (b"plain", True),
        ("größer\r\n".encode(), True),
        ("größer".encode("utf-8-sig"), False),
        ("größer".encode("latin-1"), False),
        ("größer".encode("utf-16"), False),
        (gzip.compress(b"plain"), False),
        (b"a\0b", False),
        ("ö".encode()[:1], False),
    ],
)
def test_only_utf8_without_a_mark_is_plain(tmp_path: Path, raw: bytes, plain: bool) -> None:
    path = tmp_path / "file"
    path.write_bytes(raw)
    assert is_plain_utf8(path) is plain
