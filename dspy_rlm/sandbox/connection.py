"""Frames over a stream socket: a length, then so many bytes; descriptors may ride along."""

from __future__ import annotations

import array
import contextlib
import os
import socket
import struct
from collections import deque
from collections.abc import Sequence

_HEADER = struct.Struct("<Q")
_CHUNK = 1 << 18  # bytes asked of one read
_MAX_FDS = 64  # descriptors in one message; the kernel takes 253
MAX_FRAME = 1 << 30  # bytes; what is larger is a mistake, or an attack


class ConnectionLostError(Exception):
    """The other side is gone, or does not keep to the protocol."""


class Connection:
    """One end of a connection.

    Args:
        sock: A connected stream socket, which the connection owns from now on.

    Attributes:
        fds: Descriptors that came along, oldest first; whoever takes one closes it.
    """

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.fds: deque[int] = deque()
        self._buffer = bytearray()

    def fileno(self) -> int:
        """Give the socket's descriptor, for polling."""
        return self.sock.fileno()

    def send(self, payload: bytes, fds: Sequence[int] = ()) -> None:
        """Send one frame, and descriptors with it.

        Raises:
            ConnectionLostError: The other side is gone.
        """
        data = memoryview(_HEADER.pack(len(payload)) + payload)
        try:
            for start in range(0, len(fds), _MAX_FDS):
                # A stream carries descriptors with bytes only, one byte for each batch.
                batch = array.array("i", fds[start : start + _MAX_FDS])
                sent = self.sock.sendmsg([data[:1]], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, batch)])
                data = data[sent:]
            self.sock.sendall(data)
        except OSError as error:
            raise ConnectionLostError(f"cannot send: {error}") from error

    def receive(self) -> bytes:
        """Wait for one frame.

        Raises:
            ConnectionLostError: The other side is gone.
        """
        while (frame := self.next_frame()) is None:
            self.fill()
        return frame

    def fill(self) -> None:
        """Read once, whatever is there.

        Raises:
            ConnectionLostError: The other side is gone.
        """
        try:
            data, extra, _flags, _sender = self.sock.recvmsg(_CHUNK, socket.CMSG_SPACE(_MAX_FDS * 4))
        except OSError as error:
            raise ConnectionLostError(f"cannot receive: {error}") from error
        for level, kind, content in extra:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                fds = array.array("i")
                fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
                self.fds.extend(fds)
        if not data:
            raise ConnectionLostError("the other side has closed the connection")
        self._buffer += data

    def next_frame(self) -> bytes | None:
        """Take the next frame, if it is here as a whole.

        Raises:
            ConnectionLostError: It announces more than a frame may hold.
        """
        if len(self._buffer) < _HEADER.size:
            return None
        (size,) = _HEADER.unpack_from(self._buffer)
        if size > MAX_FRAME:
            raise ConnectionLostError(f"a frame of {size:,} bytes was announced, at most {MAX_FRAME:,} are taken")
        end = _HEADER.size + size
        if len(self._buffer) < end:
            return None
        frame = bytes(memoryview(self._buffer)[_HEADER.size : end])
        del self._buffer[:end]
        return frame

    def drop_fds(self) -> None:
        """Close the descriptors that nobody took."""
        while self.fds:
            with contextlib.suppress(OSError):
                os.close(self.fds.popleft())

    def close(self) -> None:
        """Close the socket; whatever was not read is lost."""
        self.drop_fds()
        self.sock.close()
