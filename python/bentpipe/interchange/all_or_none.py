"""Writes several files atomically: each under a temporary name, and all are renamed when complete."""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from bentpipe.errors import StoreError


class AllOrNone:
    """Files in a folder, which is made. What is there already is an error unless `force`."""

    def __init__(self, folder: Path, names: Sequence[str], *, force: bool) -> None:
        self._folder, self._names = folder, list(names)
        if folder.exists() and not folder.is_dir():
            raise StoreError(f"{folder} is a file; expected a folder")
        there = [name for name in names if (folder / name).exists()]
        if there and not force:
            more = f" and {len(there) - 1} more" if len(there) > 1 else ""
            raise StoreError(f"{folder / there[0]}{more}: exists already; add --force to overwrite it")

    @property
    def paths(self) -> list[Path]:
        return [self._folder / name for name in self._names]

    def part(self, name: str) -> Path:
        """Where to write a file."""
        return self._folder / f".{name}.part"

    def __enter__(self) -> Self:
        self._made = not self._folder.exists()
        self._folder.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                for name in self._names:
                    self.part(name).rename(self._folder / name)
        finally:
            for name in self._names:
                self.part(name).unlink(missing_ok=True)
            if kind is not None and self._made and not any(self._folder.iterdir()):
                self._folder.rmdir()
