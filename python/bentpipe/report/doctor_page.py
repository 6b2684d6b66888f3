"""The doctor's findings as one page: words, figures and a chart for each transfer. It opens offline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from bentpipe.charts import plotly
from bentpipe.charts.build import diagnosed
from bentpipe.doctor.diagnosis import Diagnosis
from bentpipe.doctor.path_seen import PathSeen
from bentpipe.doctor.reproduced import Reproduced
from bentpipe.doctor.view import View
from bentpipe.doctor.words import (
    cure_words,
    path_lines,
    path_rows,
    reproduced_words,
    shared_words,
    users_of,
)
from bentpipe.errors import StoreError
from bentpipe.report.html import PAGE, PLOTLY, as_json, modules
from bentpipe.report.packing import deflated
from bentpipe.whole_file import write_whole
from bentpipe.words.wording import duration, percent, rate, size, unbroken


@dataclass(frozen=True)
class Source:
    """What was diagnosed."""

    heading: str
    found: Sequence[Diagnosis]
    cures: Sequence[Sequence[Any]]
    simulated: Sequence[Reproduced | None]
    """Each transfer on the lab of its path; None: it was not simulated."""
    paths: Sequence[PathSeen]
    """Of each transfer."""
    remarks: Sequence[str]


def write(file: Path, sources: Sequence[Source]) -> None:
    """Whole or not at all. Raises `StoreError` where it cannot be written."""
    try:
        write_whole(file, render(sources).encode())
    except OSError as error:
        raise StoreError(f"--html {file}: {error.strerror or error}") from None


def render(sources: Sequence[Source]) -> str:
    environment = Environment(
        loader=FileSystemLoader(PAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"unbroken": unbroken, "percent": percent}
    charts: list[Any] = []
    return environment.get_template("doctor.html.j2").render(
        sources=[
            {
                "heading": each.heading,
                "paths": list(path_lines(each.found, each.paths)),
                "tables": [
                    {"of": of, "rows": list(path_rows(path))}
                    for path, of in users_of(each.found, each.paths).items()
                ],
                "remarks": each.remarks,
                "transfers": [
                    _transfer(diagnosis, cures, again, charts)
                    for diagnosis, cures, again in zip(each.found, each.cures, each.simulated, strict=True)
                ],
            }
            for each in sources
        ],
        figures=as_json(charts),
        dark=as_json(plotly.DARK_FOR_LIGHT),
        css=Markup((PAGE / "page.css").read_text(encoding="utf-8")),
        modules=as_json({"imports": modules()}),
        plotly=deflated(PLOTLY.read_bytes()),
    )


def _transfer(
    of: Diagnosis, cures: Sequence[Any], again: Reproduced | None, charts: list[Any]
) -> Mapping[str, Any]:
    evidence = of.evidence
    goodput = evidence.goodput_bit_s
    chart = _chart(of.view, is_shared=of.neighbours > 0)
    charts.append(
        [
            {"figure": figure, "title": panel.title, "sentence": panel.sentence}
            for figure, panel in zip(plotly.figures(chart), chart.panels, strict=True)
        ]
        if chart.panels
        else []
    )
    return {
        "name": evidence.name,
        "said": f"{size(evidence.bytes)} in {duration(evidence.duration_s)}"
        + ("" if goodput is None else f", {rate(goodput)}")
        + f", seen from the {evidence.seen_from}",
        "shared": shared_words(of) if of.neighbours else None,
        "findings": of.findings,
        "simulated": None if again is None else reproduced_words(of, again),
        "cures": [cure_words(each) for each in cures],
        "charts": len(charts) - 1,
    }


def _chart(view: View, *, is_shared: bool) -> Any:
    """Of the connection that has most samples; the rate is of all together."""
    numbers, counts = np.unique(view.connection, return_counts=True)
    own = view.connection == (numbers[counts.argmax()] if numbers.size else 0)
    columns = {name: values[own] for name, values in view.columns.items()}
    columns["total_bit_s"] = view.total_bit_s[own]
    of = diagnosed.Known(
        capacity_bit_s=view.capacity_bit_s,
        base_rtt_s=view.base_rtt_s,
        is_down=view.evidence.direction != "up",
        is_shared=is_shared,
    )
    return diagnosed.build(view.evidence.name, columns["time_s"] - view.evidence.start_s, columns, of)
