"""What the doctor says of other people's captures: all files below a folder, each as `bentpipe doctor FILE`.

    make check-captures FROM=folder

The limits of these transfers are not known, but some programs' are: what people type, see on a remote screen
or say in a chat is limited by the program that writes it. nDPI names its captures after the program. For
those the first finding should be `sender-application`, or `unknown`.
"""

import argparse
import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bentpipe.doctor.diagnosis import diagnose_all
from bentpipe.doctor.from_capture import is_capture, read
from bentpipe.errors import StoreError

_WRITE_LITTLE = re.compile(r"vnc|rdp|anydesk|teamviewer|skype|signal|whatsapp|telegram|ssh|mqtt|tor\b|irc")
"""Programs that people write with or look through."""
_FITS = ("sender-application", "unknown")


@dataclass(frozen=True)
class Read:
    """A file, and the first finding of each of its transfers: kind, certainty, and who saw it."""

    name: str
    refused: str | None
    first: tuple[tuple[str, float, str], ...] = ()


def look(file: Path) -> Read:
    try:
        found = diagnose_all(read(file).transfers)
    except StoreError as error:
        return Read(file.name, str(error).partition(f"{file}: ")[2] or str(error))
    return Read(
        file.name,
        None,
        tuple((each.findings[0].kind, each.findings[0].certainty, each.evidence.seen_from) for each in found),
    )


def report(files: list[Read]) -> Iterator[str]:
    refused = Counter(each.refused for each in files if each.refused is not None)
    transfers = [(each.name, *first) for each in files for first in each.first]
    yield (
        f"{len(files)} captures: {sum(refused.values())} refused, "
        f"{sum(bool(each.first) for each in files)} with transfers of 20 kB or more, {len(transfers)} in all."
    )
    for why, count in refused.most_common():
        yield f"Refused, {count}: {why}"
    yield "\n| first finding | transfers | certain to 90 % or more |\n|---|---:|---:|"
    for kind, count in Counter(kind for _, kind, _, _ in transfers).most_common():
        certain = sum(each == kind and certainty >= 0.9 for _, each, certainty, _ in transfers)
        yield f"| `{kind}` | {count} | {certain} |"
    little = [each for each in transfers if _WRITE_LITTLE.search(each[0].lower())]
    wrong = [each for each in little if each[1] not in _FITS]
    yield (
        f"\nPrograms that people write with or look through: {len(little)} transfers, "
        f"{len(little) - len(wrong)} limited by the program or unknown. Others:"
    )
    for name, kind, certainty, seen_from in wrong:
        yield f"- {name}, seen from {seen_from}: {kind}, {certainty:.0%} certain"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    asked = parser.parse_args()
    files = sorted(file for file in asked.folder.rglob("*") if is_capture(str(file)))
    with ProcessPoolExecutor() as pool:
        print("\n".join(report(list(pool.map(look, files)))))


if __name__ == "__main__":
    main()
