"""Reads a file of any known format, and returns its tests."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bentpipe.interchange import flent_file, iperf3_json
from bentpipe.interchange.foreign import ForeignFileError, Found, documents, read_text
from bentpipe.interchange.imported import Imported


@dataclass(frozen=True)
class Format:
    name: str
    recognises: Callable[[Found], bool]
    """By the file's first JSON document."""
    runs: Callable[[Sequence[tuple[str, Found]]], Iterator[Imported]]
    """Of all its documents, each with its text."""


FORMATS = (
    Format("iperf3's JSON (iperf3 -J)", iperf3_json.recognises, iperf3_json.runs),
    Format("flent's data file (.flent.gz)", flent_file.recognises, flent_file.runs),
)


def read(path: Path) -> list[Imported]:
    """Raises ForeignFileError, which names the file and the place in it."""
    where = str(path)
    parts = [(text, Found(document, where)) for text, document in documents(read_text(path), where)]
    for form in FORMATS:
        if form.recognises(parts[0][1]):
            return list(form.runs(parts))
    known = " or ".join(form.name for form in FORMATS)
    raise ForeignFileError(where, "JSON of an unknown program", f"expected {known}")
