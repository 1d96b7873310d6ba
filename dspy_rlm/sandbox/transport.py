"""Values from the host to the worker: small ones within the frame, large ones as a memory file, files as they are.

The host is trusted, so that pickle may be used this way round. Objects of the host's own classes do not exist in the
worker: pydantic models and dataclasses become dicts or records, members of enums their values.
"""

from __future__ import annotations

import codecs
import contextlib
import ctypes
import dataclasses
import enum
import functools
import io
import mmap
import os
import pickle
import types
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dspy_rlm.reading import NotTextError, decoded

from .kin import nearest_builtin
from .values import Record

# What pickles name in the course of making plain data again. Anything else may be a way past the inner wall.
_SAFE_MODULES = frozenset(
    {"datetime", "decimal", "fractions", "uuid", "collections", "zoneinfo", "ipaddress", "copyreg"}
)
_SAFE_CLASSES: tuple[type, ...] = (
    types.SimpleNamespace,
    set,
    frozenset,
    complex,
    bytearray,
    range,
    slice,
    object,
    dict,
    list,
    tuple,
    str,
    int,
    float,
    bytes,
    bool,
)
_INLINE = 1 << 16  # bytes up to which a value travels within the frame
_PIECE = 1 << 22  # characters or bytes handled at a time, so that a copy of all never exists
Packed = tuple[str, Any]


class Packer:
    """Packs values for one frame.

    Args:
        make_object: What pydantic models and dataclasses become: `dict` or `Record`.
        importable: Names of packages, besides the standard library, that the worker has.

    Attributes:
        fds: The descriptors that must go with the frame; `close` them once it is sent.
    """

    def __init__(self, make_object: type[dict[str, Any] | Record], importable: Sequence[str] = ()) -> None:
        self.fds: list[int] = []
        self._make_object = make_object
        self._importable = {name.partition(".")[0] for name in importable}

    def pack(self, value: Any) -> Packed:
        """Pack one value.

        Raises:
            TypeError: It holds an object that the worker cannot have.
            OSError: It is the path of a file that cannot be read.
        """
        if isinstance(value, Path):
            self.fds.append(os.open(value, os.O_RDONLY | os.O_CLOEXEC))
            return "file", None
        if type(value) is str and len(value) > _INLINE:
            sizes = self._write_text(value)
            return ("ascii", len(value)) if value.isascii() else ("text", sizes)
        if type(value) is bytes and len(value) > _INLINE:
            _write_all(self._memory_file(), value)
            return "bytes", len(value)
        return self._pickled(value)

    def _memory_file(self) -> int:
        self.fds.append(os.memfd_create("input", os.MFD_CLOEXEC))
        return self.fds[-1]

    def _write_text(self, text: str) -> list[int]:
        fd = self._memory_file()
        sizes = []
        for start in range(0, len(text), _PIECE):
            piece = text[start : start + _PIECE].encode("utf-8", "surrogatepass")
            _write_all(fd, piece)
            sizes.append(len(piece))
        return sizes

    def _pickled(self, value: Any) -> Packed:
        spill = _Spill(self._memory_file)
        try:
            _Pickler(spill, self._make_object, self._importable).dump(value)
        except RecursionError:
            raise TypeError("the value is nested too deeply to go into the sandbox") from None
        except pickle.PicklingError as error:
            raise TypeError(f"the value cannot go into the sandbox: {error}") from error
        return ("pickle", bytes(spill.buffer)) if spill.fd is None else ("big pickle", None)

    def close(self) -> None:
        """Close the descriptors."""
        while self.fds:
            os.close(self.fds.pop())


class _Spill:
    """A file for pickle, in memory until it gets large."""

    def __init__(self, memory_file: Callable[[], int]) -> None:
        self.buffer = bytearray()
        self.fd: int | None = None
        self._memory_file = memory_file

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        if self.fd is None:
            if len(self.buffer) + size <= _INLINE:
                self.buffer += data
                return size
            self.fd = self._memory_file()
            _write_all(self.fd, self.buffer)
        _write_all(self.fd, data)
        return size


class _Pickler(pickle.Pickler):
    def __init__(self, file: _Spill, make_object: Callable[[dict[str, Any]], Any], importable: set[str]) -> None:
        super().__init__(file, 5)
        self._make_object = make_object
        self._importable = importable

    def reducer_override(self, value: Any) -> Any:
        """Say how to pickle what is not a plain builtin; called by pickle."""
        if isinstance(value, enum.Enum):
            return _same, (value.value,)
        if isinstance(value, Path):
            return _same, (_text_of(value),)
        if not isinstance(value, type):
            fields = _fields_of(value)
            if fields is not None:
                return self._make_object, (fields,)
        kind = value if isinstance(value, type) or callable(value) else type(value)
        return NotImplemented if self._exists_there(kind) else _reduced(value, kind)

    def _exists_there(self, kind: Any) -> bool:
        module = getattr(kind, "__module__", None) or "builtins"
        ours = module in (Record.__module__, __name__)
        return (
            ours
            or module in _SAFE_MODULES
            or module.partition(".")[0] in self._importable
            or kind in _SAFE_CLASSES
            or (isinstance(kind, type) and module == "builtins" and issubclass(kind, Exception))
        )


def _reduced(value: Any, kind: Any) -> tuple[Any, ...]:
    if not isinstance(value, type):
        if isinstance(value, tuple) and hasattr(kind, "_fields"):
            return _named_tuple, (kind.__name__, tuple(kind._fields), tuple(value))
        with contextlib.suppress(LookupError):
            return _same, (nearest_builtin(value),)
    name, module = getattr(kind, "__qualname__", repr(kind)), getattr(kind, "__module__", None)
    raise TypeError(
        f"{name} of {module} cannot go into the sandbox: pass text, numbers, lists, dicts, a dataclass "
        "or a pydantic model instead"
    )


def _text_of(path: Path) -> str:
    try:
        return decoded(path.read_bytes())
    except (NotTextError, OSError) as error:
        raise TypeError(f"the file {str(path)!r} cannot go into the sandbox: {error}") from error


def _fields_of(value: Any) -> dict[str, Any] | None:
    """Give the fields of a pydantic model or dataclass by name, or None for anything else."""
    if isinstance(value, Record):
        return None
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if hasattr(type(value), "model_fields") and hasattr(value, "model_dump"):
        fields: dict[str, Any] = dict(vars(value))
        return fields | (getattr(value, "__pydantic_extra__", None) or {})
    if hasattr(type(value), "toDict"):  # DSPy's examples and predictions
        found: dict[str, Any] = value.toDict()
        return found
    return None


def _same(value: Any) -> Any:
    return value


def _named_tuple(name: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return _named_tuple_class(name, fields)._make(values)


@functools.cache
def _named_tuple_class(name: str, fields: tuple[str, ...]) -> Any:
    from .facades_stdlib import namedtuple  # the worker's, which the host needs not

    return namedtuple(name, fields)


def _write_all(fd: int, data: Any) -> None:
    view = memoryview(data).cast("B")
    while view:
        view = view[os.write(fd, view[:_PIECE]) :]


def unpack(packed: Packed, fds: deque[int]) -> Any:
    """Unpack a value in the worker.

    Args:
        packed: What `Packer.pack` returned.
        fds: The descriptors that came with the frame, in order; the value's own is taken off and closed.
    """
    kind, content = packed
    if kind == "pickle":
        return pickle.loads(content)  # noqa: S301  # the host is trusted
    fd = fds.popleft()
    try:
        match kind:
            case "ascii":
                return _read_ascii(fd, content)
            case "text":
                return _read_text(fd, content)
            case "file":
                return _read_file(fd)
            case "bytes":
                os.lseek(fd, 0, os.SEEK_SET)
                return b"".join(iter(lambda: os.read(fd, _PIECE), b""))
            case _:
                os.lseek(fd, 0, os.SEEK_SET)
                with io.BufferedReader(io.FileIO(fd, closefd=False), _PIECE) as file:
                    return pickle.load(file)  # noqa: S301  # the host is trusted
    finally:
        os.close(fd)


def _read_ascii(fd: int, size: int) -> str:
    """Read a memory file of ASCII only, giving it back piece by piece."""
    text, view = _new_ascii(size)
    with mmap.mmap(fd, size) as pages:
        for start in range(0, size, _PIECE):
            _read_into(fd, view[start : start + _PIECE], start)
            pages.madvise(mmap.MADV_REMOVE, start, min(_PIECE, size - start))
    return text


def _new_ascii(size: int) -> tuple[str, memoryview]:
    """A string of ASCII made at its full size, which gets huge pages that way, and its characters, to be written."""
    new = ctypes.pythonapi.PyUnicode_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_ssize_t, ctypes.c_uint32)
    text: str = new(size, 127)
    # Its characters are its last bytes, before a closing zero.
    return text, memoryview((ctypes.c_char * size).from_address(id(text) + text.__sizeof__() - size - 1)).cast("B")


def _read_into(fd: int, view: memoryview, offset: int) -> None:
    while view:
        count = os.preadv(fd, [view], offset)
        if not count:
            raise EOFError
        view, offset = view[count:], offset + count


def _read_text(fd: int, sizes: Sequence[int]) -> str:
    """Read a text, giving its memory file back piece by piece, so that the two together stay the size of one."""
    text, end, freed = "", 0, 0
    with mmap.mmap(fd, sum(sizes)) as view:
        for size in sizes:
            # Appending to a variable that holds the only reference grows the string in place.
            text += view[end : end + size].decode("utf-8", "surrogatepass")
            end += size
            whole = end - end % mmap.PAGESIZE
            if whole > freed:
                with contextlib.suppress(OSError):  # only memory files can be given back in part
                    view.madvise(mmap.MADV_REMOVE, freed, whole - freed)
                freed = whole
    return text


def _read_file(fd: int) -> str:
    try:
        return _read_ascii_file(fd)
    except (EOFError, UnicodeDecodeError):  # it got shorter meanwhile, or is no ASCII
        os.lseek(fd, 0, os.SEEK_SET)
        return _read_any_file(fd)


def _read_ascii_file(fd: int) -> str:
    size = os.fstat(fd).st_size
    if size <= _INLINE:
        raise EOFError  # too short to gain by it, or of no size that the system can tell
    text, view = _new_ascii(size)
    for start in range(0, size, _PIECE):
        piece = view[start : start + _PIECE]
        _read_into(fd, piece, start)
        codecs.ascii_decode(piece)
    return text


def _read_any_file(fd: int) -> str:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = ""
    while piece := os.read(fd, _PIECE):
        text += decoder.decode(piece)
    text += decoder.decode(b"", final=True)
    return text
