"""A folder or file of results, on this machine or at a URL that fsspec knows.

What is on this machine is reached by the operating system alone: fsspec would ask it about every file several
times, and a sweep has tens of thousands.
"""

import os
import shutil
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from bentpipe.errors import StoreError
from bentpipe.runs.layout import STAGING_SUFFIX
from bentpipe.runs.positional import BytesFile, LocalFile, PositionalFile, SharedFile

_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
"""Without waiting for somebody who writes, where it is a pipe."""
_VERSION_KEYS = ("ETag", "etag", "mtime", "LastModified", "last_modified", "updated", "modified", "created")


@dataclass(frozen=True)
class Stamp:
    """By which a file is known to be the one that was read before."""

    size_bytes: int
    changed: str
    """When it was written last, or a store's own mark of it, as text."""


class Place(ABC):
    """A folder or a file. Raises StoreError for what is not there or cannot be reached, OSError for a
    disk that is full."""

    @staticmethod
    def of(where: "str | os.PathLike[str] | Place") -> "Place":
        """A path, or a URL such as `s3://bucket/sweeps`; a `file://` URL is a path."""
        if isinstance(where, Place):
            return where
        text = os.fspath(where)
        if not isinstance(where, str) or "://" not in text:
            return LocalPlace(Path(text))
        return _at_url(text)

    @property
    @abstractmethod
    def name(self) -> str:
        """The last part of the path."""

    @property
    @abstractmethod
    def path(self) -> Path | None:
        """Where it is on this machine; None at a URL."""

    @property
    @abstractmethod
    def renames(self) -> bool:
        """Whether a folder is renamed at once. Object stores copy file by file instead."""

    @abstractmethod
    def __truediv__(self, name: str) -> Self: ...

    @abstractmethod
    def exists(self) -> bool: ...

    @abstractmethod
    def is_folder(self) -> bool: ...

    @abstractmethod
    def names(self) -> list[str]:
        """What is in the folder, sorted; nothing where there is no such folder."""

    @abstractmethod
    def stamps(self, file: str) -> dict[str, Stamp]:
        """Of each folder in this one that holds `file`, the file's stamp. Staging folders are left out."""

    @abstractmethod
    def stamp(self) -> Stamp | None:
        """This file's; None where there is none, or something else of that name."""

    @abstractmethod
    def read_bytes(self) -> bytes: ...

    @abstractmethod
    def open(self) -> tuple[PositionalFile, Stamp | None]:
        """This file for reading, with the stamp of what was opened; None where only `stamp` can tell."""

    @abstractmethod
    def make(self) -> None:
        """The folder, and those that it lies in."""

    @abstractmethod
    def write_bytes(self, content: bytes | memoryview) -> None:
        """A file, whole or not at all; what was there before stays until then."""

    @abstractmethod
    def remove(self) -> None:
        """The file, or the folder with what is in it, if it is there."""


class LocalPlace(Place):
    def __init__(self, path: Path) -> None:
        self._path = path

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LocalPlace) and self.path == other.path

    def __hash__(self) -> int:
        return hash(self.path)

    @property
    def path(self) -> Path:
        return self._path

    @property
    def name(self) -> str:
        last = self.path.name
        return last if last not in {"", ".."} else self.path.resolve().name

    @property
    def renames(self) -> bool:
        return True

    def __str__(self) -> str:
        return str(self.path)

    def __fspath__(self) -> str:
        return str(self.path)

    def __truediv__(self, name: str) -> "LocalPlace":
        return LocalPlace(self.path / name)

    def exists(self) -> bool:
        return self.path.exists()

    def is_folder(self) -> bool:
        return self.path.is_dir()

    def names(self) -> list[str]:
        if not self.path.is_dir():
            return []
        with _said(self):
            return sorted(entry.name for entry in self.path.iterdir())

    def stamps(self, file: str) -> dict[str, Stamp]:
        if not self.path.is_dir():
            return {}
        found = {}
        with _said(self), os.scandir(self.path) as entries:
            for entry in entries:
                if not entry.name.startswith("."):
                    stamp = _local_stamp(f"{entry.path}{os.sep}{file}")
                    if stamp is not None:
                        found[entry.name] = stamp
        return found

    def stamp(self) -> Stamp | None:
        return _local_stamp(str(self.path))

    def read_bytes(self) -> bytes:
        with _said(self):
            if self.path.exists() and not self.path.is_file():
                raise StoreError(f"{self} is not a file")
            return self.path.read_bytes()

    def open(self) -> tuple[PositionalFile, Stamp | None]:
        with _said(self):
            descriptor = os.open(self.path, _OPEN_FLAGS)
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                os.close(descriptor)
                raise StoreError(f"{self} is not a file")
            return LocalFile(descriptor), _stamp_of(found)

    def make(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)

    def write_bytes(self, content: bytes | memoryview) -> None:
        part = self.path.with_name(f".{self.path.name}.{os.getpid()}{STAGING_SUFFIX}")
        try:
            part.write_bytes(content)
            part.replace(self.path)
        except BaseException as error:
            part.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise OSError(error.errno, error.strerror, str(self.path)) from error
            raise

    def remove(self) -> None:
        if self.path.is_dir() and not self.path.is_symlink():
            shutil.rmtree(self.path)
        else:
            self.path.unlink(missing_ok=True)


def _local_stamp(path: str) -> Stamp | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - for each run of a sweep; a Path would cost as much again
    except (FileNotFoundError, NotADirectoryError):
        return None
    return _stamp_of(found) if stat.S_ISREG(found.st_mode) else None


def _stamp_of(found: os.stat_result) -> Stamp:
    return Stamp(found.st_size, str(found.st_mtime_ns))


class UrlPlace(Place):
    def __init__(self, filesystem: Any, key: str) -> None:
        self.filesystem = filesystem
        """An fsspec file system."""
        self.key = key.rstrip("/")
        """The path within it."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UrlPlace) and (self.filesystem, self.key) == (other.filesystem, other.key)

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def name(self) -> str:
        return _last(self.key)

    @property
    def path(self) -> None:
        return None

    @property
    def renames(self) -> bool:
        from fsspec import AbstractFileSystem  # noqa: PLC0415 - a local folder needs it not

        return bool(type(self.filesystem).mv is not AbstractFileSystem.mv)

    def __str__(self) -> str:
        return str(self.filesystem.unstrip_protocol(self.key))

    def __truediv__(self, name: str) -> "UrlPlace":
        return UrlPlace(self.filesystem, f"{self.key}/{name}")

    def exists(self) -> bool:
        with self._reached():
            return bool(self.filesystem.exists(self.key))

    def is_folder(self) -> bool:
        with self._reached():
            return bool(self.filesystem.isdir(self.key))

    def names(self) -> list[str]:
        with self._reached():
            try:
                found = self.filesystem.ls(self.key, detail=False)
            except (FileNotFoundError, NotADirectoryError):
                return []
        return sorted(_last(path) for path in found if path != self.key)

    def stamps(self, file: str) -> dict[str, Stamp]:
        with self._reached():
            try:
                found = self.filesystem.find(self.key, maxdepth=2, detail=True)
            except (FileNotFoundError, NotADirectoryError):
                return {}
        within = {path[len(self.key) + 1 :]: entry for path, entry in found.items()}
        return {
            path.removesuffix(f"/{file}"): _url_stamp(entry)
            for path, entry in within.items()
            if path.endswith(f"/{file}") and not path.startswith(".")
        }

    def stamp(self) -> Stamp | None:
        with self._reached():
            try:
                return _url_stamp(self.filesystem.info(self.key))
            except FileNotFoundError:
                return None

    def read_bytes(self) -> bytes:
        with self._reached():
            return bytes(self.filesystem.cat_file(self.key))

    def open(self) -> tuple[PositionalFile, Stamp | None]:
        if "memory" in _protocols(self.filesystem):  # gives everybody the same file object
            return BytesFile(self.read_bytes()), None
        with self._reached():
            return SharedFile(self.filesystem.open(self.key, "rb")), None

    def make(self) -> None:
        with self._reached():
            self.filesystem.makedirs(self.key, exist_ok=True)

    def write_bytes(self, content: bytes | memoryview) -> None:
        """Object stores show a file once it is whole; elsewhere it is written beside and renamed."""
        with self._reached():
            if not self.renames:
                self.filesystem.pipe_file(self.key, bytes(content))
                return
            folder, _, name = self.key.rpartition("/")
            part = f"{folder}/.{name}{STAGING_SUFFIX}"
            self.filesystem.pipe_file(part, bytes(content))
            self.filesystem.mv(part, self.key)

    def remove(self) -> None:
        with self._reached():
            if self.filesystem.exists(self.key):
                self.filesystem.rm(self.key, recursive=True)

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """Without what fsspec remembers of folders: others write there too."""
        self.filesystem.invalidate_cache()
        try:
            with _said(self):
                yield
        except StoreError:
            raise
        except Exception as error:  # whatever the library of that protocol raises
            raise StoreError(f"{self}: {error}") from error


def _at_url(url: str) -> Place:
    import fsspec  # noqa: PLC0415 - a local folder needs it not

    try:
        filesystem, key = fsspec.url_to_fs(url)
    except ValueError as error:
        raise StoreError(
            f"{url}: {error}; expected file, s3, gs, abfs, sftp or another of fsspec's"
        ) from error
    except ImportError as error:
        raise StoreError(f"{url}: {error}") from error
    except OSError as error:
        raise StoreError(f"{url} cannot be reached: {error}") from error
    if "file" in _protocols(filesystem):
        return LocalPlace(Path(key))
    return UrlPlace(filesystem, key)


def _protocols(filesystem: Any) -> tuple[str, ...]:
    return (filesystem.protocol,) if isinstance(filesystem.protocol, str) else tuple(filesystem.protocol)


def _url_stamp(entry: dict[str, Any]) -> Stamp:
    version = next((entry[key] for key in _VERSION_KEYS if entry.get(key) is not None), "")
    changed = version.timestamp() if isinstance(version, datetime) else version
    return Stamp(int(entry.get("size") or 0), str(changed))


def _last(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


@contextmanager
def _said(place: Place) -> Iterator[None]:
    """What cannot be read or reached is said with its place."""
    try:
        yield
    except FileNotFoundError as error:
        raise StoreError(f"{place} is not there") from error
    except OSError as error:
        raise StoreError(f"{place}: {error.strerror or error}") from error
