"""The labs that come with bentpipe. They are inside the package, in a wheel as in a checkout."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path


def shipped_labs() -> dict[str, Path]:
    """The shipped labs' files by name, in the order of their names."""
    folder = Path(str(files("bentpipe.lab"))).parent / "labs"
    return {file.stem: file for file in sorted(folder.glob("*.toml"))}


def catalogue() -> list[tuple[str, str]]:
    """Name and title of every shipped lab."""
    return [
        (name, str(tomllib.loads(file.read_text(encoding="utf-8")).get("title", name)))
        for name, file in shipped_labs().items()
    ]
