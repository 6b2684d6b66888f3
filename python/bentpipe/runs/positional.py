"""Open files that are read by position.

A file object has one position that all of its users share. Where several threads seek and then read, one of
them reads where another has sought. Here the position is an argument of the read.
"""

import os
import threading
from abc import ABC, abstractmethod
from types import TracebackType
from typing import IO, Self


class PositionalFile(ABC):
    """An open file. Several threads may read it at once. Raises OSError."""

    @abstractmethod
    def read_at(self, offset: int, length: int) -> bytes:
        """The bytes from `offset` on: `length` of them, or fewer where the file ends."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class BytesFile(PositionalFile):
    def __init__(self, content: bytes) -> None:
        self._content = content

    def read_at(self, offset: int, length: int) -> bytes:
        return self._content[offset : offset + length]

    def close(self) -> None:
        pass


class LocalFile(PositionalFile):
    """A file of this machine, by its descriptor."""

    def __init__(self, descriptor: int) -> None:
        """Closes the descriptor when it is closed itself, at the latest when nothing refers to it."""
        self._file = os.fdopen(descriptor, "rb", buffering=0)
        self._lock = threading.Lock()

    def read_at(self, offset: int, length: int) -> bytes:
        parts = []
        while length > 0 and (part := self._read(offset, length)):
            parts.append(part)
            offset += len(part)
            length -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        self._file.close()

    def _read(self, offset: int, length: int) -> bytes:
        if hasattr(os, "pread"):
            return os.pread(self._file.fileno(), length, offset)
        with self._lock:  # Windows
            self._file.seek(offset)
            return self._file.read(length) or b""


class SharedFile(PositionalFile):
    """A file object that has one position, such as one of fsspec's: its reads take turns."""

    def __init__(self, file: IO[bytes]) -> None:
        """Nobody else may read the file object."""
        self._file = file
        self._lock = threading.Lock()

    def read_at(self, offset: int, length: int) -> bytes:
        parts = []
        with self._lock:
            self._file.seek(offset)
            while length > 0 and (part := self._file.read(length)):
                parts.append(part)
                length -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        with self._lock:
            self._file.close()
