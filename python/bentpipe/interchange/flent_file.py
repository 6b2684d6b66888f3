"""flent's data file (`.flent.gz`, versions 1 to 4) as a run.

Source: flent 2.3, flent/resultset.py and the runners that fill it, and files that they wrote.
1. Figures are of the raw values, on the clock of whoever measured; `results` are these put on a common grid
   by interpolation, and stand in only where version 1 kept no raw ones.
2. A raw value with `dur` is a mean over that time and ends at its `t`.
3. A stream's goodput is the tool's own (`MEAN_VALUE`) where it is there.
4. Netperf's UDP round trips are means over an interval, not single ones: they have a median, and neither
   rows in `pings` nor a count of what was lost. Before version 4 they were kept as transactions a second, and
   the time of a page in seconds.
5. Sums, averages and totals are left aside: they are computed from the others.
6. Bytes are not in the file, and so null, but for one that bentpipe wrote.
"""

import datetime
import statistics
from collections.abc import Iterator, Sequence

from bentpipe.interchange import exported, flent_names, flent_pings
from bentpipe.interchange.foreign import LONGEST_S, YEAR_3000_S, Found
from bentpipe.interchange.imported import Imported, spread_over_seconds
from bentpipe.runs.figures.times import percentile, seconds_goodput, times
from bentpipe.words.direction import Direction

TOOL = "flent"
NEWEST = 4
OURS = "BENTPIPE"
"""In its metadata, and a series': what `bentpipe export` keeps there."""
_MBIT_S = {"Mbits/s": 1.0, "Mbit/s": 1.0, "bits/s": 1e-6, "Kbits/s": 1e-3, "Gbits/s": 1e3}
_QUARTER_HOUR_S = 900


def recognises(document: Found) -> bool:
    return isinstance(document.value, dict) and {"metadata", "results", "x_values"} <= set(document.value)


def runs(parts: Sequence[tuple[str, Found]]) -> Iterator[Imported]:
    for text, document in parts:
        if not recognises(document):
            raise document.fault("expected metadata, results and x_values", "no data file of flent")
        yield _File(text, document).run()


class _File:
    def __init__(self, text: str, document: Found) -> None:
        self._text, self._document = text, document
        self._metadata = document["metadata"]
        self._series_metadata = self._metadata["SERIES_META"]
        self._version = document["version"].count() or 1
        if self._version > NEWEST:
            raise document["version"].fault(f"expected 1 to {NEWEST}; a newer bentpipe may know more")
        self._values = {name: self._raw(name) for name, _ in document["results"].members()}
        if not self._values:
            raise document["results"].fault("expected a file with series")
        times = [
            at
            for values in self._values.values()
            for value in values
            if (at := value["t"].positive()) is not None
        ]
        moments = (self._moment("T0", times), self._moment("TIME", times), min(times, default=0.0))
        self._zero_s = next(moment for moment in moments if moment is not None)
        if self._zero_s >= YEAR_3000_S:
            raise self._metadata["T0"].fault("expected a time as 2026-01-31T12:00:00.000000Z")

    def run(self) -> Imported:
        metadata = self._metadata
        run = Imported(
            tool=TOOL,
            version=metadata["FLENT_VERSION"].text() or metadata["NETPERF_WRAPPER_VERSION"].text(),
            test=f"flent {self._text}",
            text=self._text,
            title=metadata["TITLE"].text() or None,
            host=metadata["HOST"].text(),
            local_host=metadata["LOCAL_HOST"].text(),
            started=datetime.datetime.fromtimestamp(self._zero_s, datetime.UTC),
            kernel=metadata["KERNEL_RELEASE"].text(),
            sysctl={
                name: str(each.text() if isinstance(each.value, str) else each.value)
                for name, each in metadata["SYSCTLS"].members()
            },
        )
        if OURS in metadata:
            return self._ours(run, metadata[OURS])
        grouped: dict[str, list[tuple[str, flent_names.Series]]] = {}
        for name in self._values:
            series = flent_names.understood(name)
            if series.workload is not None:
                grouped.setdefault(series.workload, []).append((name, series))
            elif series.kind == "other":
                run.not_taken.append(name)
        for workload, members in grouped.items():
            names = [name for name, _ in members]
            match members[0][1].kind:
                case "bulk":
                    self._take_streams(run, workload, names, members[0][1].direction or Direction.DOWN)
                case "ping":
                    self._take_pings(run, workload, names[0])
                case _:
                    self._take_pages(run, workload, names[0])
        if not run.entries:
            found = ", ".join(list(self._values)[:5])
            raise self._document["results"].fault(
                "expected transfers (TCP ...), pings or pages", f"only {found}"
            )
        return run

    def _ours(self, run: Imported, ours: Found) -> Imported:
        of = {name: self._series_metadata[name][OURS].text() for name in self._values}
        zero_s = self._zero_s + (ours["zero_s"].seconds() or 0.0)
        known = "started" in ours
        run.started = datetime.datetime.fromtimestamp(zero_s, datetime.UTC) if known else None
        exported.take(run, ours, {name: (of[name], values) for name, values in self._values.items()}, zero_s)
        return run

    def _raw(self, name: str) -> list[Found]:
        """Of a series; without them, its values on the common grid made to look alike."""
        kept = self._document["raw_values"][name].elements()
        if self._version == 1 and not kept:
            kept = self._series_metadata[name]["RAW_VALUES"].elements()
        if kept or self._version > 1:
            return kept
        x = self._document["x_values"].elements()
        y = self._document["results"][name].elements()
        moments = (self._moment("T0", []), self._moment("TIME", []), 0.0)
        zero_s = next(moment for moment in moments if moment is not None)
        step_s = self._metadata["STEP_SIZE"].seconds() or 0.0
        return [
            Found({"t": zero_s + at, "val": value.value, "dur": step_s}, value.file, value.place)
            for time, value in zip(x, y, strict=False)
            if (at := time.number()) is not None and value.value is not None
        ]

    def _moment(self, key: str, times: Sequence[float]) -> float | None:
        """Seconds since 1970. Without a Z it is a local time: the raw values tell by how much it is off."""
        text = self._metadata[key].text()
        if not text:
            return None
        try:
            moment = datetime.datetime.fromisoformat(text.removesuffix("Z")).replace(tzinfo=datetime.UTC)
            seconds = moment.timestamp()
        except (ValueError, OverflowError):
            seconds = -1.0
        if not 0 <= seconds < YEAR_3000_S:
            raise self._metadata[key].fault("expected a time as 2026-01-31T12:00:00.000000Z")
        if text.endswith("Z") or not times:
            return seconds
        return seconds + round((min(times) - seconds) / _QUARTER_HOUR_S) * _QUARTER_HOUR_S

    def _take_streams(self, run: Imported, workload: str, names: Sequence[str], direction: Direction) -> None:
        rates, per_stream, spans = [], [], []
        for name in names:
            pieces = list(self._pieces(name))
            span_s = (pieces[0][0], max(start + seconds for start, seconds, _ in pieces)) if pieces else None
            rate = self._mean_mbit_s(name, pieces)
            if span_s:
                spans.append(span_s)
                per_stream.append((span_s[0], spread_over_seconds(pieces)))
            if rate is not None:
                rates.append(rate)
            run.flows.append(
                {
                    "flow": len(run.flows) + 1,
                    "workload": workload,
                    "client": "client",
                    "server": "server",
                    "direction": direction.value,
                    "ip": self._ip(),
                    "start_s": span_s[0] if span_s else 0.0,
                    "end_s": span_s[1] if span_s else None,
                    "goodput_bit_s": None if rate is None else rate * 1e6,
                    "outcome": "finished" if rate is not None else "failed",
                    "why": None if rate is not None else "the file has no value of it",
                }
            )
            whose = {
                "host": direction.sender,
                "workload": workload,
                "flow": len(run.flows),
                "role": "data",
                "ip": self._ip(),
            }
            run.sockets += [row | whose for row in exported.windows(self._values[name], self._zero_s)]
        start_s = min((start for start, _ in spans), default=0.0)
        seconds = _added(per_stream)
        run.entries[workload] = {
            "kind": "bulk",
            "direction": direction.value,
            "streams": len(names),
            "goodput_mbit_s": sum(rates) if rates else None,
            "bytes": None,
            "duration_s": max(end for _, end in spans) - start_s if spans else None,
            "completion_s": None,
            "retransmits": None,
            "per_second": seconds_goodput(seconds),
            "per_second_mbit_s": seconds,
        }
        length_s = self._metadata["LENGTH"].seconds()
        run.asked.append(
            {
                "name": workload,
                "kind": "bulk",
                "start_ns": round(start_s * 1e9),
                "direction": direction.value,
                "streams": len(names),
                "size_bytes": None,
                "time_ns": None if length_s is None else round(length_s * 1e9),
                "omit_ns": 0,
                "congestion_control": None,
            }
        )

    def _pieces(self, name: str) -> Iterator[tuple[float, float, float]]:
        """What a stream carried: start on the run's clock, seconds, bytes."""
        for value in self._values[name]:
            rate, seconds, at = value["val"].positive(), value["dur"].seconds(), self._at(value)
            if rate is not None and seconds and at is not None:
                yield at - seconds, seconds, rate * self._scale(name) * seconds * 125_000

    def _scale(self, name: str) -> float:
        """From the series' unit to Mbit/s."""
        unit = self._series_metadata[name]["UNITS"]
        if unit.value is None:
            return 1.0
        if unit.text() not in _MBIT_S:
            raise unit.fault(f"expected {', '.join(_MBIT_S)}")
        return _MBIT_S[str(unit.value)]

    def _mean_mbit_s(self, name: str, pieces: Sequence[tuple[float, float, float]]) -> float | None:
        mean = self._series_metadata[name]["MEAN_VALUE"].positive()
        if mean is not None:
            return mean * self._scale(name)
        seconds = sum(seconds for _, seconds, _ in pieces)
        return sum(carried for _, _, carried in pieces) * 8e-6 / seconds if seconds else None

    def _take_pings(self, run: Imported, workload: str, name: str) -> None:
        """Of each that has a number; without numbers, of the means."""
        rows = flent_pings.rows(self._values[name], self._zero_s)
        run.pings += [row | {"workload": workload} for row in rows]
        if rows:
            found_ms = [row["rtt_s"] * 1000 for row in rows if row["rtt_s"] is not None]
        else:
            found_ms = [ms for value in self._values[name] if (ms := self._mean_ms(name, value)) is not None]
        run.entries[workload] = {
            "kind": "ping",
            "sent": len(rows) or None,
            "lost": len(rows) - len(found_ms) if rows else None,
            "min_ms": min(found_ms, default=None),
            "median_ms": statistics.median(found_ms) if found_ms else None,
            # A percentile of means over intervals is not a percentile of round trips.
            "p95_ms": percentile(found_ms, 95) if rows else None,
            "p99_ms": percentile(found_ms, 99) if rows else None,
            "max_ms": max(found_ms, default=None),
        }
        count = len(rows) or len(found_ms)
        run.asked.append({"name": workload, "kind": "ping", "start_ns": 0, "count": count})

    def _at(self, value: Found) -> float | None:
        """On the run's clock."""
        return value["t"].since(self._zero_s, "T0")

    def _mean_ms(self, name: str, value: Found) -> float | None:
        """A mean round trip over an interval."""
        found = value["val"].positive()
        if self._version < NEWEST and "UDP" in name and "dur" in value:
            return 1000 / found if found else None
        return found

    def _take_pages(self, run: Imported, workload: str, name: str) -> None:
        scale = 1e-3 if self._version >= NEWEST or self._fake(name) else 1.0
        timed = [(self._at(value), value["val"].positive()) for value in self._values[name]]
        fetched = [(at, took * scale) for at, took in timed if at is not None and took is not None]
        unknown = dict.fromkeys(("connect_s", "first_byte_s", "bytes", "retransmits", "cache"))
        run.entries[workload] = {
            "kind": "http",
            "direction": "down",
            "connections": None,
            "goodput_mbit_s": None,
            "bytes": None,
            "duration_s": None,
            "completion_s": None,
            "retransmits": None,
            "fetches": len(fetched),
            "finished": len(fetched),
            "median_fetch_s": statistics.median(took for _, took in fetched) if fetched else None,
            "fetch_times": times([took for _, took in fetched]),
            "per_fetch": [{"start_s": start, "total_s": took, **unknown} for start, took in fetched],
            "cache": None,
        }

    def _fake(self, name: str) -> bool:
        """Whether the values are those of the common grid, which were never in another unit."""
        return (
            not self._document["raw_values"][name].elements()
            and "RAW_VALUES" not in self._series_metadata[name]
        )

    def _ip(self) -> int | None:
        found = self._metadata["IP_VERSION"].value
        return found if found in (4, 6) else None


def _added(streams: Sequence[tuple[float, list[float]]]) -> list[float]:
    """Streams' seconds, put on the seconds of the first that began."""
    if not streams or not all(seconds for _, seconds in streams):
        return []
    zero = min(start for start, _ in streams)
    length = max(round(start - zero) + len(seconds) for start, seconds in streams)
    if length > LONGEST_S:
        return []
    found = [0.0] * length
    for start, seconds in streams:
        for second, rate in enumerate(seconds, round(start - zero)):
            found[second] += rate
    return found
