"""One self-contained page for a folder of results: it opens offline, and everything on it is escaped."""

import json
import zlib
from base64 import b64encode
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from bentpipe.charts import by_variant, files, heat_map, lateness, over_time, plotly, speed_up, throughput_rtt
from bentpipe.charts.description import Chart
from bentpipe.charts.wording import digits
from bentpipe.report import columns, engine_words
from bentpipe.report.asked_words import asked_words
from bentpipe.report.sheets import sheets
from bentpipe.results.asked import workload_spec
from bentpipe.results.cells import counts, is_imported
from bentpipe.results.kinds import KINDS
from bentpipe.results.published import experiment
from bentpipe.results.run_folder import write_file
from bentpipe.results.store import Results

_HERE = Path(__file__).parent


def write(results: Results, path: Path) -> None:
    """Write the page to `path`, whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    try:
        write_file(part, render(results).encode())
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def render(results: Results) -> str:
    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    first = results.runs[0]
    return environment.get_template("page.html.j2").render(
        title=first.get("title") or first.get("lab") or results.folder.name,
        first=first,
        started=_moment(first.get("started")),
        runs=[_run(results, record) for record in results.runs],
        unreliable=columns.reasons(results.runs),
        sheets=sheets(results),
        finding=_finding(results),
        overviews=list(_overviews(results)),
        published=experiment(first.get("published")),
        facts=list(_facts(results)),
        lab=results.lab.get("document"),
        lab_options=results.lab.get("options", []),
        dark=_json(plotly.DARK_FOR_LIGHT),
        css=Markup((_HERE / "page.css").read_text(encoding="utf-8")),
        script=Markup((_HERE / "page.js").read_text(encoding="utf-8")),
        plotly=Markup(plotly.library().replace("</script", "<\\/script")),
    )


def _finding(results: Results) -> str:
    """What the runs say together, in a sentence; empty where no chart says it."""
    chart = throughput_rtt.build(results, log=True)
    return chart.sentence if chart else ""


def _overviews(results: Results) -> Iterable[dict[str, Any]]:
    """The charts over all runs. Of the one with round trips the reader chooses the scale."""
    log, linear = (throughput_rtt.build(results, log=choice) for choice in (True, False))
    if log and linear:
        yield _overview(log, {"log": plotly.figures(log), "linear": plotly.figures(linear)})
    for chart in (*by_variant.build(results), speed_up.build(results), heat_map.build(results)):
        if chart:
            yield _overview(chart, {"only": plotly.figures(chart)})


def _overview(chart: Chart, figures: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "title": chart.title,
        "scales": list(figures) if len(figures) > 1 else [],
        "rows": chart.of_categories,
        "panels": _panels(chart),
        "figures": _json(figures),
    }


def _moment(text: str | None) -> str:
    return datetime.fromisoformat(text).strftime("%Y-%m-%d %H:%M %Z") if text else ""


def _run(results: Results, record: Mapping[str, Any]) -> dict[str, Any]:
    engine = lateness.build(record)
    charts = [*files.of_run(results, record), *([engine] if engine else [])]
    return {
        "name": record["run"],
        "heading": over_time.heading(record),
        "counts": counts(record),
        "imported": is_imported(record),
        "status": record.get("status", "done"),
        "why": record.get("why", []),
        "headline": list(_headline(record)),
        "panels": [panel for chart in charts for panel in _panels(chart)],
        "figures": _packed([figure for chart in charts for figure in plotly.figures(chart)]),
        "workloads": [
            (name, asked_words(workload_spec(record, name)), _scalars(figures))
            for name, figures in record.get("workloads", {}).items()
        ],
        "pipes": [
            (name, "", _scalars({**figures, **record.get("queue", {}).get(name, {})}))
            for name, figures in record.get("pipes", {}).items()
        ],
        "engine": engine_words.sentences(record),
        "sysctl": list(_sysctl(record)),
        "spec": _pretty(record.get("spec", {})),
    }


def _headline(record: Mapping[str, Any]) -> Iterable[str]:
    """What each piece of work came to, in the figure by which its kind is compared."""
    found = [(kind.measures[0], subject) for kind in KINDS for subject in kind.subjects(record)]
    for measure, subject in found:
        values = measure.values(record, subject)
        if values:
            figure = f"{digits(median(values))} {measure.unit}"
            yield f"{subject} {figure}" if len(found) > 1 else figure


def _panels(chart: Chart) -> list[dict[str, str]]:
    """One for each figure of the chart; `clock` where its charts are to be zoomed together."""
    first_of_rows = chart.panels[:: chart.columns] if chart.of_categories else chart.panels
    clock = "" if chart.of_categories or chart.x.unit != "s" else "time"
    engine = "engine" if chart.name.startswith("lateness") else ""
    return [
        {
            "title": "" if chart.of_cells else p.title,  # written above the cells
            "sentence": p.sentence,
            "clock": clock,
            "engine": engine,
        }
        for p in first_of_rows
    ]


def _scalars(figures: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Name and value of what is one figure; a table in it (drops) by its parts."""
    found = []
    for name, value in figures.items():
        if isinstance(value, Mapping):
            found += [(f"{name}, {part}", _shown(inner)) for part, inner in value.items()]
        elif not isinstance(value, list):
            found.append((name, _shown(value)))
    return found


def _shown(value: Any) -> str:
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


def _facts(results: Results) -> Iterable[tuple[str, str]]:
    """Versions and machine, each with every value that the runs have."""
    for group in ("versions", "machine"):
        names = dict.fromkeys(name for run in results.runs for name in run.get(group, {}))
        for name in names:
            values = dict.fromkeys(_fact(run.get(group, {}).get(name)) for run in results.runs)
            yield name.replace("_", " "), "; ".join(values)


def _fact(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_fact(inner)}" for key, inner in value.items())
    return {True: "yes", False: "no"}.get(value, _shown(value)) if isinstance(value, bool) else _shown(value)


def _pretty(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def _packed(value: Any) -> str:
    """JSON as the page's script unpacks it: a sweep's charts over time are most of the page, and a tenth when
    compressed."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return b64encode(zlib.compress(text.encode(), 9)).decode()


def _json(value: Any) -> Markup:
    """JSON that may stand inside a script element."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
