"""How often findings are right: what was found of a labelled run, and tables of many."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mixed import MIXTURES
from planted import KINDS, OTHERS, Planted

from bentpipe.doctor.claim import Finding
from bentpipe.doctor.diagnosis import diagnose_all
from bentpipe.doctor.evidence import Evidence, SeenFrom

ENDS: tuple[SeenFrom, ...] = ("sender", "receiver")
CERTAIN = 0.9
_LEAST_SHARE = 0.01
"""Of the time, from which on a finding names a cause."""


@dataclass(frozen=True)
class Found:
    planted: str
    kind: str
    seed: int
    end: str
    half: str
    first: str
    certainty: float
    """Of the first finding."""
    named: frozenset[str]
    """All findings of a hundredth of the time or more."""
    also: str | None
    path: str

    @property
    def both(self) -> bool:
        return {self.planted, self.also or self.planted} <= self.named

    @property
    def also_missing(self) -> bool:
        return self.also is not None and self.also not in self.named


def found_of(
    planted: Planted, transfers: list[Evidence], end: str, *, kind: str, seed: int, half: str
) -> Found:
    findings = _of_the_first(planted, transfers)
    kinds = [each.kind for each in findings]
    path = planted.lab["path"]
    return Found(
        planted.kind,
        kind,
        seed,
        end,
        half,
        kinds[0] if kinds else "unknown",
        findings[0].certainty if findings else 0.0,
        frozenset(each.kind for each in findings if each.share >= _LEAST_SHARE),
        planted.also,
        f"{path['rate']}, {path['rtt']}",
    )


def _of_the_first(planted: Planted, transfers: list[Evidence]) -> Sequence[Finding]:
    """Of the lab's first workload; another may go the other way beside it, and a capture names ways anew."""
    way = planted.lab["workload"][0].get("direction", "down")
    found = diagnose_all(transfers)
    own = [each for each in found if each.evidence.direction == way] or found
    return own[0].findings if own else ()


def matrix(found: list[Found]) -> Iterator[str]:
    """A line per planted kind: how many, first finding right, and which others were first."""
    for kind in (*KINDS, *OTHERS):
        own = [each for each in found if each.kind == kind]
        if not own:
            yield f"| {kind} | 0 | | no draw had this limit |"
            continue
        right = sum(each.first == each.planted and not each.also_missing for each in own)
        wrong = Counter(
            each.first if each.first != each.planted else "second not named"
            for each in own
            if each.first != each.planted or each.also_missing
        )
        others = ", ".join(f"{name} {count}" for name, count in wrong.most_common())
        yield f"| {kind} | {len(own)} | {right / len(own):.0%} | {others} |"


def both_named(found: list[Found]) -> Iterator[str]:
    """A line per mixture: how often both causes are named, in each half and from each end."""
    columns = [(half, end) for half in ("training", "held out") for end in ENDS]
    yield "| both planted | " + " | ".join(f"{half}, {end}" for half, end in columns) + " |"
    yield "|---|" + "---:|" * len(columns)
    for kind in (*MIXTURES, None):
        cells = []
        for half, end in columns:
            own = [
                each.both
                for each in found
                if each.half == half and each.end == end and kind in (each.kind, None)
            ]
            cells.append(f"{sum(own) / len(own):.0%} of {len(own)}" if own else "none")
        yield f"| {kind or 'all'} | " + " | ".join(cells) + " |"


def summary(found: list[Found], kinds: Mapping[str, object]) -> str:
    def share(of: list[bool]) -> str:
        return f"{sum(of) / len(of):.1%} of {len(of)}" if of else "none"

    healthy = [each for each in found if each.planted == "capacity"]
    ill = [each.first != "capacity" for each in healthy]
    certain = [each.first != each.planted for each in found if each.certainty >= CERTAIN]
    return (
        f"First finding right: {share([each.first == each.planted for each in found])}. "
        f"Healthy called ill: {share(ill)}. "
        f"Cannot tell: {share([each.first == 'unknown' for each in found])}. "
        f"Wrong with a certainty of {CERTAIN:.0%} or more: {share(certain)}. Kinds: {len(kinds)}."
    )
