"""A folder of results in this process's memory, for runs that are not kept on disk."""

import os
from pathlib import Path

from bentpipe.errors import StoreError
from bentpipe.runs.place import Place, Stamp
from bentpipe.runs.positional import BytesFile, PositionalFile


class MemoryPlace(Place):
    """Files by their paths below a root that has a name only."""

    def __init__(self, name: str, files: dict[str, bytes], within: str = "") -> None:
        """`files` is shared with the places below this one. `within`: this place's path, "" for the root."""
        self._root = name
        self._files = files
        self._within = within

    @classmethod
    def read(cls, folder: Path, name: str) -> "MemoryPlace":
        """What is in a folder of this machine now, its subfolders included."""
        files = {
            f"{Path(at).relative_to(folder) / file}".removeprefix("./"): (Path(at) / file).read_bytes()
            for at, _, names in os.walk(folder)
            for file in names
        }
        return cls(name, files)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MemoryPlace) and self._files is other._files and self._within == other._within
        )

    def __hash__(self) -> int:
        return hash((id(self._files), self._within))

    def __str__(self) -> str:
        return "/".join(filter(None, (f"{self._root} (in memory)", self._within)))

    @property
    def name(self) -> str:
        return self._within.rpartition("/")[2] or self._root

    @property
    def path(self) -> None:
        return None

    @property
    def renames(self) -> bool:
        return True

    def __truediv__(self, name: str) -> "MemoryPlace":
        return MemoryPlace(self._root, self._files, f"{self._below}{name}")

    def exists(self) -> bool:
        return self._within in self._files or self.is_folder()

    def is_folder(self) -> bool:
        return not self._within or any(key.startswith(self._below) for key in self._files)

    def names(self) -> list[str]:
        return sorted({key.removeprefix(self._below).partition("/")[0] for key in self._keys()})

    def stamps(self, file: str) -> dict[str, Stamp]:
        found = {}
        for key in self._keys():
            folder, _, name = key.removeprefix(self._below).rpartition("/")
            if name == file and folder and "/" not in folder and not folder.startswith("."):
                found[folder] = Stamp(len(self._files[key]), "")
        return found

    def stamp(self) -> Stamp | None:
        content = self._files.get(self._within)
        return None if content is None else Stamp(len(content), "")

    def read_bytes(self) -> bytes:
        try:
            return self._files[self._within]
        except KeyError:
            raise StoreError(f"{self} is not there") from None

    def open(self) -> tuple[PositionalFile, Stamp | None]:
        return BytesFile(self.read_bytes()), self.stamp()

    def make(self) -> None:
        """A folder is there with its first file."""

    def write_bytes(self, content: bytes | memoryview) -> None:
        self._files[self._within] = bytes(content)

    def remove(self) -> None:
        for key in [*self._keys(), self._within]:
            self._files.pop(key, None)

    @property
    def _below(self) -> str:
        return f"{self._within}/" if self._within else ""

    def _keys(self) -> list[str]:
        return [key for key in self._files if key.startswith(self._below)]
