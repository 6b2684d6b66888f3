"""Captures of labelled labs, kept as `crates/capture` reads them: a changed rule costs no new simulation."""

import json
import pickle
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from records import keep, place

import bentpipe
from bentpipe._core import read_capture
from bentpipe.doctor import from_capture
from bentpipe.doctor.evidence import Evidence
from bentpipe.engines.base import EngineOptions
from bentpipe.sweep.run import execute

MOST_BYTES = 150e6
"""What a path carries in a run that is captured: a capture holds every packet."""


def can_be_captured(lab: dict[str, Any]) -> bool:
    """Whether the path carries no more than a capture should hold."""
    rate_mbit_s, lasts_s = float(lab["path"]["rate"].split()[0]), float(lab["duration"].split()[0])
    return rate_mbit_s * 1e6 / 8 * lasts_s <= MOST_BYTES


@dataclass(frozen=True)
class KeptReading:
    """The largest flow of a reading."""

    said: str
    place: tuple[int, int]
    sampled: pl.DataFrame
    happened: pl.DataFrame
    cut_off: str | None = None

    def facts(self) -> str:
        return self.said

    def samples(self, connection: int, side: int) -> Mapping[str, Any]:
        assert (connection, side) == self.place
        return self.sampled.to_dict(as_series=False)

    def events(self, connection: int, side: int) -> Mapping[str, Any]:
        assert (connection, side) == self.place
        return self.happened.to_dict(as_series=False)


def captured(lab: dict[str, Any]) -> dict[str, list[Evidence]]:
    """The largest transfer of that lab's run, by a capture at each of its ends."""
    return seen_in(_kept(lab))


def seen_in(readings: Mapping[str, KeptReading]) -> dict[str, list[Evidence]]:
    """By end, its largest transfer."""
    return {end: list(from_capture.seen(each).transfers[:1]) for end, each in readings.items()}


def _kept(lab: dict[str, Any]) -> dict[str, KeptReading]:
    file = place(lab, "captures")
    if file.exists():
        found: dict[str, KeptReading] = pickle.loads(file.read_bytes())
        return found
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        hosts = hosts_of(lab)
        options = EngineOptions(pcap=tuple(sorted(hosts.values())))
        execute(bentpipe.Lab(**lab), engine="sim", out=out, options=options)
        (run,) = out.glob("[!.]*/")
        found = {end: reading_of(run / f"{host}.pcapng") for end, host in hosts.items()}
    keep(file, found)
    return found


def hosts_of(lab: dict[str, Any]) -> dict[str, str]:
    """The ends of the long path: where TCP is split, near is one of them."""
    near = "near" if "split" in lab else "client"
    if lab["workload"][0].get("direction", "down") == "down":
        return {"sender": "server", "receiver": near}
    return {"sender": near, "receiver": "server"}


def reading_of(file: Path) -> KeptReading:
    reading = read_capture(file, None)
    facts = json.loads(reading.facts())
    largest = max(facts["flows"], key=lambda flow: int(flow["delivered_bytes"]))
    where = (largest["connection"], largest["side"])
    facts["flows"] = [largest]
    return KeptReading(
        json.dumps(facts),
        where,
        pl.DataFrame(reading.samples(*where)),
        pl.DataFrame(reading.events(*where)),
    )
