"""One self-contained page for a folder of results: it opens offline, and everything on it is escaped."""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from bentpipe.analysis.cells import counts
from bentpipe.analysis.comparisons import Comparison, compare_all
from bentpipe.analysis.limits import explain
from bentpipe.analysis.published import experiment
from bentpipe.charts import plotly
from bentpipe.charts.build.overviews import Overview, overviews
from bentpipe.charts.description import Chart, Panel
from bentpipe.errors import ComparisonError, StoreError
from bentpipe.report import columns, comparison, explained, run_part, what_if
from bentpipe.report.drawing import Parts, mapping, shown
from bentpipe.report.packing import PAGE_BYTES, Map, blank, deflated, pack, packed_runs
from bentpipe.report.run_rows import run_rows
from bentpipe.report.sheets import Sheet, sheets
from bentpipe.runs.store import Results
from bentpipe.whole_file import write_whole
from bentpipe.words.wording import size, unbroken

PAGE = Path(__file__).parent / "page"
PLOTLY = PAGE / "vendor" / "plotly-cartesian.min.js"
_LONG_TABLE = 40
"""More rows are not shown at once; and where there are more in all tables, the charts come first."""
_COMMAND = re.compile("`([^`]+)`")
Told = Callable[[int], None]


def write(
    results: Results, path: Path, told: Told = lambda _runs: None, *, with_what_if: bool = True
) -> None:
    """Write the page to `path`, whole or not at all. `told` hears how many more runs are drawn.

    `with_what_if`: whether runs can be simulated on the page (what_if.py).

    Raises:
        StoreError: for a path that is a folder, or lies in none.
        OSError: where the disk is full or the folder is not to be written.
    """
    if not path.parent.is_dir():
        raise StoreError(f"{path}: there is no folder {path.parent}")
    if path.is_dir():
        raise StoreError(f"{path} is a folder; expected the name of a file, such as report.html")
    page = render(results, told=told, with_what_if=with_what_if).encode()
    write_whole(path, page)


def render(
    results: Results,
    most_bytes: int = PAGE_BYTES,
    told: Told = lambda _runs: None,
    *,
    with_what_if: bool = True,
) -> str:
    """The page. Charts over time are thinned as far as `most_bytes` asks.

    `told` hears how many more runs are drawn.
    """
    with mapping(results.records) as mapped:
        return _rendered(results, most_bytes, mapped, told, with_what_if=with_what_if)


def _rendered(results: Results, most_bytes: int, mapped: Map, told: Told, *, with_what_if: bool) -> str:
    environment = Environment(
        loader=FileSystemLoader(PAGE),
        autoescape=True,
        finalize=shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    first = results.records[0]
    environment.filters |= {"unbroken": unbroken, "commands": _commands}
    compared = _compared(results)
    told_of = comparison.told(compared)
    found, tables = list(overviews(results)), sheets(results)
    simulated = with_what_if and what_if.asks(results.records)
    page: dict[str, Any] = {
        "title": first.get("title") or first.get("lab") or results.folder.name,
        "first": first,
        "started": _moment(first.get("started")),
        "count": len(results.records),
        "not_counted": sum(not counts(run) for run in results.records),
        "rows": run_rows(results),
        "unreliable": columns.reasons(results.records),
        "sheets": tables,
        "long_table": _LONG_TABLE,
        "charts_first": sum(sheet.length for sheet in tables) > _LONG_TABLE,
        "finding": "" if compared else next((each.finding for each in found if each.finding), ""),
        "answers": [answer for each in found for answer in _answers(each.first)],
        "limited": _limited(results) if len(results.records) == 1 else [],
        "told": told_of,
        "ratios_open": _open(told_of, tables),
        "how_compared": comparison.how_compared(compared) if compared else "",
        "overviews": [_overview(each) for each in found],
        "published": experiment(first.get("published")),
        "facts": list(_facts(results)),
        "lab": results.lab.get("document"),
        "lab_options": results.lab.get("options", []),
        "dark": as_json(plotly.DARK_FOR_LIGHT),
        "css": Markup("".join(map(_style, ["page.css", *(["what_if.css"] if with_what_if else [])]))),
        "what_if": _simulator() if simulated else {},
        "modules": as_json({"imports": modules()}),
        "plotly": deflated(PLOTLY.read_bytes()),
    }
    template = environment.get_template("page.html.j2")
    rest = len(template.render(page, packed=blank(len(results.records))).encode())
    count, part = len(results.records), Parts(results, results.records, with_what_if=with_what_if)
    packed = packed_runs(count, part, most_bytes - rest, mapped, told)
    return template.render(page, packed=packed)


def _style(name: str) -> str:
    return (PAGE / name).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _simulator() -> dict[str, str]:
    """What the part "What if" is made with."""
    parts = {"module": what_if.MODULE, "worker": what_if.WORKER, "script": what_if.SCRIPT}
    return {name: deflated((what_if.BUILT / file).read_bytes()) for name, file in parts.items()}


def modules() -> dict[str, str]:
    """The page's scripts by the names under which they import each other. The page itself holds them."""
    return {
        f"#page/{file.name}": f"data:text/javascript;base64,{b64encode(file.read_bytes()).decode()}"
        for file in sorted(PAGE.glob("*.js"))
    }


def _compared(results: Results) -> Sequence[Comparison]:
    """What each variant changed; empty where there is one variant, or no pair of runs."""
    if len({run.get("variant") for run in results.records}) < 2:
        return []
    try:
        return compare_all([results])
    except ComparisonError:
        return []


def _limited(results: Results) -> list[dict[str, Any]]:
    """What `bentpipe explain` says of each transfer of the only run."""
    found = explain(results, results.records[0])
    return [
        {
            "name": f"{transfer.name} ({transfer.direction})",
            "shares": explained.shares(transfer, found.pipes),
            "why_none": transfer.why_none,
        }
        for transfer in found.transfers
    ]


def _open(told: Sequence[comparison.Told], tables: Sequence[Sheet]) -> bool:
    """Whether ratios are shown at once: where no other table has them, and they are not too many."""
    rows = sum(each.sheet.length for each in told)
    return rows <= _LONG_TABLE and not all(sheet.variants for sheet in tables)


def _overview(found: Overview) -> dict[str, Any]:
    first = found.first
    return {
        "title": found.title or first.title,
        "choice": found.choice,
        "choices": list(found.charts) if len(found.charts) > 1 else [],
        "sentence": _note(first, found),
        "panels": _panels(first),
        "packed": pack([_choice(chart, found) for chart in found.charts.values()]),
    }


def _choice(chart: Chart, of: Overview) -> dict[str, Any]:
    return {
        "shape": "rows" if chart.of_categories else "small" if chart.small_multiples else "tall",
        "note": _note(chart, of),
        "keys": plotly.keys(chart) if chart.small_multiples else [],
        "panels": _panels(chart),
        "figures": plotly.figures(chart),
    }


def _note(chart: Chart, of: Overview) -> str:
    """What is not said above already."""
    return "" if chart.sentence == of.finding else chart.sentence


def _answers(chart: Chart) -> list[tuple[str, tuple[str, ...]]]:
    """What a chart of cures says of each path. It stands at the top of the page and not at the chart."""
    return [(p.title, p.answers) for p in _first_of_rows(chart) if p.answers]


def _panels(chart: Chart) -> list[dict[str, str]]:
    """One for each figure of the chart."""
    # The title of cells is written above them.
    return [
        {"title": "" if chart.of_cells else p.title, "sentence": "" if p.answers else p.sentence}
        for p in _first_of_rows(chart)
    ]


def _first_of_rows(chart: Chart) -> Sequence[Panel]:
    return chart.panels[:: chart.columns] if chart.of_categories else chart.panels


def _moment(text: str | None) -> str:
    return datetime.fromisoformat(text).strftime("%Y-%m-%d %H:%M %Z") if text else ""


def _facts(results: Results) -> Iterable[tuple[str, str]]:
    """Versions and machine, each with every value that the runs have."""
    for group in ("versions", "machine"):
        records: Sequence[Mapping[str, Any]] = results.records
        parts = [record.get(group, {}) for record in records]
        names = dict.fromkeys(name for part in parts for name in part)
        for name in names:
            found = [part.get(name) for part in parts]
            of_bytes = name.endswith("_bytes")
            said = (size(each) if of_bytes and isinstance(each, int) else _fact(each) for each in found)
            yield name.removesuffix("_bytes").replace("_", " "), "; ".join(dict.fromkeys(said))


def _commands(words: str) -> Markup:
    """What a terminal shows between backticks, as code."""
    return Markup(_COMMAND.sub(r"<code>\1</code>", str(escape(words))))


def _fact(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_fact(inner)}" for key, inner in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return run_part.shown(value)


def as_json(value: Any) -> Markup:
    """JSON that may stand inside a script element."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
