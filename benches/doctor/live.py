"""The doctor on real runs with known limits: `make check-doctor-live`, as root.

It draws labs of each kind that a machine can carry (2 to 100 Mbit/s, 10 to 250 ms, 8 s), runs each with
the live engine, and diagnoses it from the sockets of both ends and from captures at both. A run that calls
itself unreliable is repeated once; then another lab is drawn. What this engine cannot run is left out, by
name. Runs are kept in `runs/doctor-live`, so that a check that was stopped goes on where it was.

`--cures` makes the best change that the doctor proposes for each of these runs in the lab itself, runs it,
and compares what was predicted with what it gave (cured.py). `--simulated` simulates each of these labs and
compares the goodputs (beside_sim.py). `--kinds` divides the runs among processes.

`--half development` runs other labs, in which rules may be looked for, and `--half busy` another set, for a
machine that has other work to do. No constant comes from the test set, nor from `--half stopping`,
`--half hardest`, `--half third` and `--half fourth`, which were run on a machine whose processors stopped
now and then. What earlier trees had wrong in the first of these was counted, and labs were added for it.
"""

import argparse
import hashlib
import json
import pickle
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import beside_sim
from captured import KeptReading, hosts_of, reading_of, seen_in
from confusion import ENDS, Found, found_of, matrix, summary
from cured import CURED, Change, Cured, changed, of_run, table
from planted import KINDS, REAL, Planted, Range, draw
from records import Kept, has_its_limit, keep, parquet, used_share

import bentpipe
from bentpipe.doctor.evidence import Evidence
from bentpipe.engines.base import EngineOptions
from bentpipe.errors import BentpipeError
from bentpipe.sweep.run import execute

FOLDER = Path(__file__).resolve().parents[2] / "runs" / "doctor-live"
_FIRST_SEEDS = {
    "development": 270_000,
    "busy": 290_000,
    "stopping": 310_000,
    "hardest": 330_000,
    "third": 350_000,
    "fourth": 370_000,
    "test": 390_000,
}
"""Rules may be looked for in the runs of the development set, and in those of a busy machine. No constant
comes from the other five. The trees were changed because of what earlier ones had wrong in the first of
them. That pacing was wrong often in the third led to runs of the development set, and to a rule. The fourth
and the test set were first judged by a doctor that was finished before."""
_JUDGE = ("stopping", "hardest", "third", "fourth", "test")
_PATHS = Range(rate_bit_s=(2e6, 1e8), rtt_s=(0.01, 0.25), least_s=8.0, round_trips=30.0)
_DRAWS = 6
_TRIES = 2
_EVERY_S = 0.02
"""As `bentpipe doctor --exec` and `--to` look; coarser samples are every n-th of these."""


@dataclass(frozen=True)
class Outcome:
    """Of one number of a kind."""

    planted: Planted
    seed: int
    run: Kept | None = None
    """None: no draw gave a run that counts."""
    captures: Mapping[str, KeptReading] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    """Runs that do not count, and why."""


def kept_in(first_seed: int, kind: str, number: int) -> Path:
    return FOLDER / str(first_seed) / f"{kind}-{number}.pickle"


def outcome(first_seed: int, kind: str, number: int) -> Outcome:
    """The run of that number; made if it is not there."""
    file = kept_in(first_seed, kind, number)
    if file.exists():
        found: Outcome = pickle.loads(file.read_bytes())
        return found
    found = _made(first_seed + number * _DRAWS, kind)
    keep(file, found)
    return found


def _made(first: int, kind: str) -> Outcome:
    left_out: list[str] = []
    for seed in range(first, first + _DRAWS):
        planted = draw(kind, seed, REAL, _PATHS)
        for _ in range(_TRIES):
            try:
                run, captures, doubts = _run(planted.lab)
            except BentpipeError as error:
                return Outcome(planted, seed, left_out=(*left_out, f"{kind} {seed}: {error}"))
            if doubts:
                left_out.append(f"{kind} {seed}: {'; '.join(doubts)}")
                continue
            if has_its_limit(planted, run):
                return Outcome(planted, seed, run, captures, tuple(left_out))
            left_out.append(
                f"{kind} {seed}: it used {run.used_share:.0%} of the path; its limit is not the costliest"
            )
            break
    return Outcome(planted, seed, left_out=tuple(left_out))


def _run(lab: dict[str, Any]) -> tuple[Kept, dict[str, KeptReading], list[str]]:
    """A run, its captures, and why it does not count."""
    hosts = hosts_of(lab)
    options = EngineOptions(pcap=tuple(sorted(hosts.values())), sample_interval_ns=round(_EVERY_S * 1e9))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        results = execute(bentpipe.Lab(**lab), engine="live", out=out, options=options)
        (record,) = results.records
        if not record["reliable"]:
            return Kept(0.0, record, {}), {}, list(record["why"]) or ["unreliable"]
        tables = {name: results.of_run(record["run"], name) for name in ("sockets", "flows", "pings")}
        (place,) = out.glob("[!.]*/")
        captures = {end: reading_of(place / f"{host}.pcapng") for end, host in hosts.items()}
    share = used_share(record, tables["flows"])
    return Kept(share, record, {name: parquet(each) for name, each in tables.items()}), captures, []


def cured(of: Outcome, every_s: float) -> list[Cured]:
    """The best change of each end's diagnosis, by sockets and by captures, predicted and real."""
    return [
        each
        for end, transfers in _seen(of, every_s).items()
        for each in of_run(of.planted, transfers[0], end, _changed)
    ]


def _changed(lab: dict[str, Any], change: Change) -> Mapping[str, Any] | None:
    """The record of a run of the lab with that change; None if none counts. It is kept."""
    words = json.dumps([lab, dict(change)], sort_keys=True)
    file = FOLDER / f"changed-{hashlib.sha256(words.encode()).hexdigest()[:24]}.pickle"
    if file.exists():
        found: Mapping[str, Any] | None = pickle.loads(file.read_bytes())
        return found
    record: Mapping[str, Any] | None = None
    for _ in range(_TRIES):
        with tempfile.TemporaryDirectory() as folder:
            made = changed(lab, change)
            (once,) = execute(made, engine="live", out=Path(folder) / "out", options=EngineOptions()).records
        if once["reliable"]:
            record = once
            break
    keep(file, record)
    return record


def _seen(of: Outcome, every_s: float) -> dict[str, list[Evidence]]:
    """From both ends, by sockets and by captures; empty without a run."""
    if of.run is None:
        return {}
    seen = {f"{end}'s sockets": of.run.seen_from(end, every_s, _EVERY_S) for end in ENDS}
    return seen | {f"a capture at the {end}": each for end, each in seen_in(of.captures).items()}


def diagnosed(kind: str, of: Outcome, every_s: float) -> list[Found]:
    return [
        found_of(of.planted, transfers, end, kind=kind, seed=of.seed, half="live")
        for end, transfers in _seen(of, every_s).items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="of each kind")
    parser.add_argument("--first", type=int, default=0, help="the number of the first of these runs")
    parser.add_argument("--kinds", default=",".join(KINDS))
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--cures", action="store_true", help="predicted against real, by cure")
    instead.add_argument("--simulated", action="store_true", help="the goodput of `sim` beside the real one")
    parser.add_argument("--kept", action="store_true", help="only those that are kept; run nothing")
    parser.add_argument("--half", choices=tuple(_FIRST_SEEDS), default="test")
    parser.add_argument("--wrong", action="store_true", help="name each wrong one on stderr")
    parser.add_argument("--sample-ms", type=int, default=round(_EVERY_S * 1e3), help="a multiple of 20")
    asked = parser.parse_args()
    every_s = asked.sample_ms / 1e3
    if asked.wrong and asked.half in _JUDGE:
        parser.error(f"--wrong is for --half development: the {asked.half} set judges")
    seed = _FIRST_SEEDS[asked.half]
    kinds = [kind for kind in KINDS if kind in asked.kinds.split(",")]
    found: list[Found] = []
    changes: list[Cured] = []
    both: list[beside_sim.Beside] = []
    left_out: list[str] = []
    for number in range(asked.first, asked.runs):
        for kind in kinds:
            if asked.kept and not kept_in(seed, kind, number).exists():
                continue
            of = outcome(seed, kind, number)
            left_out += of.left_out
            if asked.cures:
                changes += cured(of, every_s) if kind in CURED else []
            elif asked.simulated:
                both += _beside(of)
            else:
                found += _said(diagnosed(kind, of, every_s), wrong=asked.wrong)
            print(f"{kind} {number}: {'no run counts' if of.run is None else 'done'}", file=sys.stderr)
    if asked.simulated:
        print("\n".join(beside_sim.table(both)))
    elif asked.cures:
        print("\n".join(table(changes, asked.runs - asked.first)))
    else:
        _print_findings(found, kinds)
        if left_out:
            print("\nLeft out:\n" + "\n".join(f"- {each}" for each in left_out))


def _beside(of: Outcome) -> list[beside_sim.Beside]:
    one = beside_sim.beside(of.planted, of.run) if of.run is not None else None
    return [] if one is None else [one]


def _said(found: list[Found], *, wrong: bool) -> list[Found]:
    """The same; the wrong ones are named, if asked for."""
    for each in found if wrong else ():
        if each.first != each.planted or each.also_missing:
            print(f"WRONG {each.planted} {each.seed} {each.end}: {each.first}, {each.path}", file=sys.stderr)
    return found


def _print_findings(found: Sequence[Found], kinds: Sequence[str]) -> None:
    for end in dict.fromkeys(each.end for each in found):
        own = [each for each in found if each.end == end]
        print(f"\n### Real runs, by {end}\n{summary(own, KINDS)}\n")
        print("| planted | runs | right | first finding otherwise |\n|---|---:|---:|---|")
        print("\n".join(line for line in matrix(own) if line.split(" ")[1] in kinds))


if __name__ == "__main__":
    main()
