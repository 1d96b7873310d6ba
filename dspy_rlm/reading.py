"""Bytes of any origin as text: gzip by its magic number, the encoding by mark, by trial, then by statistics."""

from __future__ import annotations

import codecs
import gzip
import zlib
from pathlib import Path

_GZIP = b"\x1f\x8b"
# UTF-32 first: its little-endian mark begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
_SAMPLE = 256 * 1024  # bytes that an encoding is guessed from
_CHUNK = 4 * 2**20  # bytes of a file that are checked at a time


class NotTextError(ValueError):
    """The bytes are not text in any encoding; the message says what they are."""


def decoded(raw: bytes) -> str:
    """The text that `raw` encodes, gzipped or not.

    Raises:
        NotTextError: `raw` is binary, or damaged gzip.
    """
    if raw.startswith(_GZIP):
        raw = _unzipped(raw)
    encoding = next((encoding for mark, encoding in _MARKS if raw.startswith(mark)), None)
    if encoding is None and b"\0" in raw[:_SAMPLE]:
        encoding = _wide_encoding(raw[:_SAMPLE])
    # What remains undecodable once the encoding is known is damage, which must not cost the rest of the text.
    return _narrow_text(raw) if encoding is None else raw.decode(encoding, errors="replace")


def readable(path: Path) -> str | Path:
    """A text file as the sandbox takes it: the path itself where it is UTF-8, else its text.

    Raises:
        NotTextError: it is binary, or damaged gzip.
        OSError: it cannot be read.
    """
    return path if is_plain_utf8(path) else decoded(path.read_bytes())


def is_plain_utf8(path: Path) -> bool:
    """Whether the file is UTF-8 text as it stands, found out without holding it in memory."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        head = file.read(_SAMPLE)
        if head.startswith((_GZIP, *(mark for mark, _ in _MARKS))) or b"\0" in head:
            return False
        try:
            decoder.decode(head)
            while chunk := file.read(_CHUNK):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def _unzipped(raw: bytes) -> bytes:
    try:
        return gzip.decompress(raw)
    except (EOFError, OSError, zlib.error) as error:
        raise NotTextError(f"damaged gzip ({error})") from error


def _narrow_text(raw: bytes) -> str:
    """UTF-8, also where a few of its bytes are damaged, else an older encoding, which only statistics can tell."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("utf-8", errors="replace")
    damaged = text.count("\ufffd")
    beyond_ascii = len(text) - len(text.encode("ascii", errors="ignore"))
    if 2 * damaged <= beyond_ascii:  # what is no UTF-8 hardly ever holds a valid sequence of it
        return text
    return raw.decode(_guessed_encoding(raw[:_SAMPLE]), errors="replace")


def _guessed_encoding(sample: bytes) -> str:
    from charset_normalizer import from_bytes  # loads its tables, which UTF-8 does not need

    matches = from_bytes(sample)
    best = matches.best()
    if best is None:
        raise NotTextError("binary, or text in an encoding that cannot be recognized")
    # Many single-byte encodings explain a few accented letters equally well; then it is the commonest of them.
    as_good = {name for match in matches if match.coherence >= best.coherence for name in match.could_be_from_charset}
    return "cp1252" if "cp1252" in as_good else best.encoding


def _wide_encoding(sample: bytes) -> str:
    """UTF-16 without a mark, by where the zero bytes are: Latin letters have every other byte zero."""
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    for encoding, zeros, others in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if zeros > len(sample) // 5 and others == 0:
            text = sample.decode(encoding, errors="replace")
            if not any(character < " " and character not in "\t\n\r\f" for character in text):
                return encoding
    raise NotTextError("binary, not text")
