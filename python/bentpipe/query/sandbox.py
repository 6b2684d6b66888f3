"""The only file system that SQL can reach: the tables of given results, read-only.

DuckDB is denied every other file system, so a query can read nothing but these tables and change nothing,
whatever it says. DuckDB's own `allowed_paths` cannot do that: a path that may be read may be written too, and
`with x as (copy ... to ...) from x` writes it.

A table's file may be a link. What is opened must be a regular file in Parquet's format, so a link in a run's
folder shows no other file's content. The open file is checked, not its path: it stays the same file between
the check and the reading.
"""

import io
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar

from fsspec import AbstractFileSystem

from bentpipe.errors import StoreError
from bentpipe.runs.place import Place, Stamp
from bentpipe.runs.positional import BytesFile, PositionalFile

_PARQUET = b"PAR1"
"""How a Parquet file begins."""


class QuerySandbox(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Tables under made-up keys, `<table>/<folder>/<run>`; what lies behind a key is a place or bytes."""

    protocol: ClassVar[str] = "results"
    cachable = False

    def __init__(self) -> None:
        super().__init__()
        self._files: dict[str, Place | bytes] = {}
        self._folders: dict[str, list[str]] = {}
        self._stamps: dict[str, Stamp] = {}

    def put(self, folder: str, files: Mapping[str, Place | bytes]) -> str:
        """Let these files be read, by their names in that folder. Returns the pattern that matches them."""
        keys = {f"{folder}/{name}": file for name, file in files.items()}
        self._files |= keys
        self._folders[f"{folder}/*"] = list(keys)
        return f"{self.protocol}://{folder}/*"

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path.removeprefix(f"{cls.protocol}://").strip("/")

    def open(self, path: str, mode: str = "rb", **_options: Any) -> "SandboxFile":
        if mode != "rb":
            raise PermissionError("a query only reads")
        file = self._file(path)
        return SandboxFile(BytesFile(file) if isinstance(file, bytes) else self._opened(path, file))

    def info(self, path: str, **_options: Any) -> dict[str, Any]:
        file = self._file(path)
        size_bytes = len(file) if isinstance(file, bytes) else self._stamp(path, file).size_bytes
        return {"name": self._strip_protocol(path), "size": size_bytes, "type": "file"}

    def modified(self, path: str) -> datetime:  # noqa: ARG002 - a file that changes is refused
        return datetime.fromtimestamp(0, UTC)

    def glob(self, path: str, **_options: Any) -> list[str]:
        """Of a folder's pattern its files, else the file itself: a run's name may look like a pattern."""
        key = self._strip_protocol(path)
        return self._folders.get(key) or ([key] if key in self._files else [])

    def exists(self, path: str, **_options: Any) -> bool:
        return self._strip_protocol(path) in self._files

    def isfile(self, path: str) -> bool:
        return self.exists(path)

    def isdir(self, path: str) -> bool:  # noqa: ARG002 - no key is a folder
        return False

    def _file(self, path: str) -> Place | bytes:
        try:
            return self._files[self._strip_protocol(path)]
        except KeyError:
            raise FileNotFoundError(path) from None

    def _opened(self, path: str, place: Place) -> PositionalFile:
        file, stamp = place.open()
        if stamp is not None and stamp != self._stamps.setdefault(self._strip_protocol(path), stamp):
            file.close()
            raise StoreError(f"{place} was replaced while it was asked; ask again")
        if place.path is not None and file.read_at(0, len(_PARQUET)) != _PARQUET:
            file.close()
            raise StoreError(f"{place} is not a Parquet file")
        return file

    def _stamp(self, path: str, place: Place) -> Stamp:
        """As it was when the file was opened first: DuckDB asks for an open file's size by the path."""
        key = self._strip_protocol(path)
        if key not in self._stamps:
            self._stamps[key] = place.stamp() or Stamp(0, "")
        return self._stamps[key]


class SandboxFile(io.BufferedIOBase):
    """What DuckDB gets when it opens a table. Its threads share the object, and each seeks before it reads: a
    read begins where its own thread has sought, else where the last read ended.

    The positions are kept by the threads' numbers. `threading.local` would lose them: to Python a thread of
    DuckDB's is a new one in each of its calls.
    """

    def __init__(self, file: PositionalFile) -> None:
        self._file = file
        self._sought: dict[int, int] = {}
        self._end = 0
        """Where the last read ended, or seek led."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        if whence != io.SEEK_SET:
            raise io.UnsupportedOperation("seek from the end or the position")
        self._sought[threading.get_ident()] = self._end = offset
        return offset

    def tell(self) -> int:
        return self._sought.get(threading.get_ident(), self._end)

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            raise io.UnsupportedOperation("read without a length")
        offset = self._sought.pop(threading.get_ident(), self._end)
        content = self._file.read_at(offset, size)
        self._end = offset + len(content)
        return content

    def close(self) -> None:
        super().close()
        self._file.close()
