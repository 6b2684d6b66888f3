"""A run's part of the page, as plain JSON: the page's script makes headings, charts and tables of it when the
run is opened."""

import json
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from bentpipe.analysis.cells import counts, is_imported
from bentpipe.analysis.kinds import KINDS
from bentpipe.charts import files, plotly
from bentpipe.charts.build import lateness, over_time
from bentpipe.charts.description import Chart
from bentpipe.report import engine_words
from bentpipe.report.asked_words import asked_words
from bentpipe.report.figure_words import GATEWAY, PIPE, SPLIT, TUNNEL, Figure, figures
from bentpipe.runs.asked import workload_spec
from bentpipe.runs.called import called
from bentpipe.runs.store import Results
from bentpipe.words.digits import digits


def words(record: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of it without a chart."""
    return {
        "name": record["run"],
        "heading": over_time.heading(record),
        "badge": badge(record),
        "counts": counts(record),
        "why": list(record.get("why", [])),
        "headline": ", ".join(_headline(record)),
        "cards": [
            [name, asked, [[each.words, each.shown, each.key] for each in found]]
            for name, asked, found in (
                *_workloads(record),
                *_pipes(record),
                *_tunnel(record),
                *_split(record),
                *_gateway(record),
            )
            if found
        ],
        "engine": engine_words.sentences(record),
        "sysctl": list(_sysctl(record)),
        "spec": _json(record.get("spec", {})),
    }


def charts(results: Results, record: Mapping[str, Any]) -> list[Chart]:
    return [*files.of_run(results, record), *of_engine(record)]


def of_engine(record: Mapping[str, Any]) -> list[Chart]:
    """What needs no table."""
    engine = lateness.build(record)
    return [engine] if engine else []


def drawn(found: Sequence[Chart], pixels: int) -> dict[str, Any]:
    """`panels`, each with its words, and `figures`, each plotly's, thinned for so many pixels."""
    return {
        "panels": [panel for chart in found for panel in _panels(chart)],
        "figures": [figure for chart in found for figure in plotly.figures(chart, pixels)],
    }


def badge(record: Mapping[str, Any]) -> str:
    """Reliable, unreliable, failed, or imported (reliability unknown)."""
    if counts(record):
        return "imported" if is_imported(record) else "reliable"
    return "unreliable" if record.get("status", "done") == "done" else "failed"


def _panels(chart: Chart) -> list[dict[str, str]]:
    """One for each figure of the chart; `clock` where its charts are to be zoomed together."""
    first_of_rows = chart.panels[:: chart.columns] if chart.of_categories else chart.panels
    clock = "" if chart.of_categories or chart.x.unit != "s" else "time"
    engine = "engine" if chart.name.startswith("lateness") else ""
    return [
        {"title": p.title, "sentence": p.sentence, "clock": clock, "engine": engine} for p in first_of_rows
    ]


def _headline(record: Mapping[str, Any]) -> Iterable[str]:
    """What each piece of work came to, in the figure by which its kind is compared."""
    found = [(kind.measures[0], subject) for kind in KINDS for subject in kind.subjects(record)]
    for measure, subject in found:
        values = measure.values(record, subject)
        if values:
            figure = f"{digits(median(values))} {measure.unit}"
            yield f"{called(record, subject)} {figure}" if len(found) > 1 else figure


def _workloads(record: Mapping[str, Any]) -> Iterable[tuple[str, str, list[Figure]]]:
    for name, entry in record.get("workloads", {}).items():
        yield called(record, name), asked_words(workload_spec(record, name)), figures(entry)


def _pipes(record: Mapping[str, Any]) -> Iterable[tuple[str, str, list[Figure]]]:
    for name, entry in record.get("pipes", {}).items():
        both = {**entry, **record.get("queue", {}).get(name, {})}
        yield f"pipe {name}", "", figures(both, of=PIPE)


def _tunnel(record: Mapping[str, Any]) -> Iterable[tuple[str, str, list[Figure]]]:
    for name, entry in record.get("tunnel", {}).items():
        yield f"tunnel {name}", "", figures(entry, of=TUNNEL)


def _split(record: Mapping[str, Any]) -> Iterable[tuple[str, str, list[Figure]]]:
    for name, entry in record.get("split", {}).items():
        yield f"proxy at {name}", "", figures(entry, of=SPLIT)


def _gateway(record: Mapping[str, Any]) -> Iterable[tuple[str, str, list[Figure]]]:
    for name, entry in record.get("gateway", {}).items():
        yield f"gateway at {name}", "", figures(entry, of=GATEWAY)


def shown(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return digits(value, 12) if isinstance(value, int) else digits(value, 4)


def _sysctl(record: Mapping[str, Any]) -> Iterable[tuple[str, str, str, bool]]:
    """Name, at the client, at the server, whether the lab set it."""
    hosts = record.get("sysctl", {})
    client, server = hosts.get("client", {}), hosts.get("server", {})
    spec = record.get("spec", {})
    asked = {key for host in ("client", "server") for key in spec.get(host, {}).get("sysctl", {})}
    for name in sorted({*client, *server}):
        at = [" ".join(str(host.get(name, "–")).split()) for host in (client, server)]
        yield name, at[0], at[1], name in asked


_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
"""The page's script indents it."""
