"""The only way by which SQL reaches files: those of given results, to read.

DuckDB is given this file system and denied every other, so that a query can change nothing, neither in the
results nor elsewhere, and read nothing but them, whatever it says.
"""

import io
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import IO, Any, ClassVar

from fsspec import AbstractFileSystem

from bentpipe.results.place import Place


class Doorway(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Tables under made-up keys, `<table>/<folder>/<run>`; what lies behind a key is a place or bytes."""

    protocol: ClassVar[str] = "results"
    cachable = False

    def __init__(self) -> None:
        super().__init__()
        self._files: dict[str, Place | bytes] = {}
        self._folders: dict[str, list[str]] = {}
        self._found: dict[str, dict[str, Any]] = {}

    def put(self, folder: str, files: Mapping[str, Place | bytes]) -> str:
        """Let these files be read, by their names in that folder. Returns the pattern that matches them."""
        keys = {f"{folder}/{name}": file for name, file in files.items()}
        self._files |= keys
        self._folders[f"{folder}/*"] = list(keys)
        return f"{self.protocol}://{folder}/*"

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path.removeprefix(f"{cls.protocol}://").strip("/")

    def open(self, path: str, mode: str = "rb", **_options: Any) -> IO[bytes]:
        if mode != "rb":
            raise PermissionError("a query only reads")
        file = self._file(path)
        return io.BytesIO(file) if isinstance(file, bytes) else file.open()

    def info(self, path: str, **_options: Any) -> dict[str, Any]:
        key = self._strip_protocol(path)
        if key not in self._found:
            self._found[key] = {"name": key, "size": _size_bytes(self._file(path)), "type": "file"}
        return self._found[key]

    def modified(self, path: str) -> datetime:  # noqa: ARG002 - for a cache that has to last for one question
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


def _size_bytes(file: Place | bytes) -> int:
    if isinstance(file, bytes):
        return len(file)
    stamp = file.stamp()
    return stamp.size_bytes if stamp else 0
