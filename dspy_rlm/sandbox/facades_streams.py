"""Streams on memory: `io` without files, and a `gzip` that never opens one."""

from __future__ import annotations

import gzip
import io
from typing import Any

from .policy_names import words

_NO_FILES = "there are no files here: the data is already in the variables (io.BytesIO wraps bytes)"


class _GzipWriter(io.BytesIO):
    """Collects what is written and compresses it into the target on close."""

    def __init__(self, target: Any, level: int) -> None:
        super().__init__()
        self._target, self._level = target, level

    def close(self) -> None:
        """Compress what was written into the target, once."""
        if not self.closed:
            self._target.write(gzip.compress(self.getvalue(), self._level))
        super().close()


def gzip_open(
    filename: Any,
    mode: str = "rb",
    compresslevel: int = 9,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> Any:
    """Open a gzip stream over a binary file object, as `gzip.open` does; paths are refused."""
    if isinstance(filename, str | bytes) or not hasattr(filename, "write" if "w" in mode else "read"):
        raise OSError(_NO_FILES)
    writing = any(letter in mode for letter in "wax")
    stream = _GzipWriter(filename, compresslevel) if writing else io.BytesIO(gzip.decompress(filename.read()))
    return io.TextIOWrapper(stream, encoding or "utf-8", errors, newline) if "t" in mode else stream


def gzip_file(
    filename: Any = None,
    mode: str | None = None,
    compresslevel: int = 9,
    fileobj: Any = None,
    mtime: Any = None,
) -> Any:
    """Open a gzip stream as `gzip.GzipFile(fileobj=...)` does; paths are refused."""
    return gzip_open(filename if fileobj is None else fileobj, mode or "rb", compresslevel)


GZIP: dict[str, Any] = {
    "open": gzip_open,
    "GzipFile": gzip_file,
    "compress": gzip.compress,
    "decompress": gzip.decompress,
    "BadGzipFile": gzip.BadGzipFile,
}
IO: dict[str, Any] = {
    name: getattr(io, name)
    for name in words(
        "StringIO BytesIO TextIOWrapper IOBase RawIOBase BufferedIOBase TextIOBase "
        "SEEK_SET SEEK_CUR SEEK_END UnsupportedOperation DEFAULT_BUFFER_SIZE"
    )
}
