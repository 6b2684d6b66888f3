"""Results with comparison, charts, a page and SQL."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from bentpipe.errors import ComparisonError, StoreError
from bentpipe.runs import store
from bentpipe.words.printable import printable

# Statistics, charts and DuckDB take a while to load, and who reads a table needs none of them.
if TYPE_CHECKING:
    from bentpipe.charts.description import Chart
    from bentpipe.notebook.compared import Compared
    from bentpipe.notebook.drawing import Drawing


class Results(store.Results):
    """One run or the runs of a sweep, in a folder or in memory.

    `runs` has a row for each run; `link`, `flows`, `sockets`, `pings` and `tools` are data frames over all
    runs (docs/results.md); `records` has what run.json says of each.
    """

    def compare(
        self,
        *others: store.Results,
        baseline: str | None = None,
        metrics: Sequence[str] = (),
        require: Sequence[str] = (),
    ) -> "Compared":
        """What each variant changed; with `others`, what changed from these results to those.

        Args:
            others: results to compare with these, which are then the baseline.
            baseline: a variant (default `as is`); with `others` the name of a folder (default this one's).
            metrics: dotted names of figures to compare instead of each kind's own, `*` for any part.
            require: what must hold at every point: `workload.*.goodput_mbit_s >= 0.95 * baseline`.

        Raises:
            ComparisonError: where there is nothing to compare, or no such figure, variant or folder.
        """
        from bentpipe.analysis.comparisons import compare_all  # noqa: PLC0415 - as above
        from bentpipe.analysis.required import check  # noqa: PLC0415 - as above
        from bentpipe.analysis.requirement import parse  # noqa: PLC0415 - as above
        from bentpipe.notebook.compared import Compared  # noqa: PLC0415 - see above

        for name, texts in (("metrics", metrics), ("require", require)):
            if isinstance(texts, str):
                raise ComparisonError(
                    f'{name}: found "{texts}"; expected a list of texts: {name}=["{texts}"]'
                )
        asked = [parse(text) for text in require]
        sweeps = [self, *others]
        checks = check(sweeps, baseline, asked)
        plain = asked and not any(each.paired for each in asked)
        alone = plain and not (metrics or baseline or others)
        return Compared([] if alone else compare_all(sweeps, baseline, metrics), checks)

    def query(self, sql: str) -> pl.DataFrame:
        """The answer to a question in SQL (DuckDB's) over the tables runs, link, flows, sockets, pings and
        tools (docs/query.md). It only reads, and only these tables.

        Raises:
            QueryError: with DuckDB's message.
        """
        from bentpipe.query.questions import Questions  # noqa: PLC0415 - see above

        with Questions.open([self]) as questions:
            return questions.ask(sql).frame()

    def report(self, path: str | Path) -> Path:
        """Write the page with all tables and charts, one HTML file that needs no network; returns its path.

        Raises:
            StoreError: where there is no such folder to write to.
            OSError: where the disk is full or the folder is not to be written.
        """
        from bentpipe.report.html import write  # noqa: PLC0415 - see above

        file = Path(path)
        write(self, file)
        return file

    @property
    def charts(self) -> list[str]:
        """Names of the charts over all runs; and of those of a single run, where these are of one."""
        return list(self._charts(self._only_run()))

    def chart(self, name: str, run: str | None = None) -> "Drawing":
        """A chart, which a notebook shows.

        Args:
            name: one of `charts`, or how one begins: `throughput_rtt`, `by_variant`, `speed_up`, `over_time`.
            run: the name of a run, for a chart of that run alone, such as `over_time`.

        Raises:
            StoreError: where these results have no such chart, with those that they have; or no such run.
        """
        from bentpipe.notebook.drawing import Drawing  # noqa: PLC0415 - see above

        if run is not None and run not in self.names:
            raise StoreError(f"{self.folder} holds no run {run!r}")
        found = self._charts(run or self._only_run())
        wanted = _name(name)
        chosen = next((each for each in found if each == wanted), None)
        chosen = chosen or next((each for each in found if wanted and each.startswith(wanted)), None)
        if chosen is None:
            has = ", ".join(found) or "none"
            single = "" if run or self._only_run() else "; a single run has more: chart(name, run=...)"
            raise StoreError(f"chart: found {name!r}; expected one of {printable(has)}{single}")
        return Drawing(found[chosen])

    def _charts(self, run: str | None) -> "dict[str, Chart]":
        """By name. Those of a run have no run in theirs."""
        from bentpipe.charts.files import of_run  # noqa: PLC0415 - see above

        if run is None:
            return self._over_all
        record = next(record for record in self.records if record["run"] == run)
        own = of_run(self, record)
        return {_name(chart.name.removesuffix(run).rstrip("-")): chart for chart in own} | self._over_all

    @cached_property
    def _over_all(self) -> "dict[str, Chart]":
        from bentpipe.charts.files import over_all  # noqa: PLC0415 - see above

        return {_name(chart.name): chart for chart in over_all(self)}

    def _only_run(self) -> str | None:
        return self.names[0] if len(self.names) == 1 else None

    def __repr__(self) -> str:
        from bentpipe.report.terminal import table  # noqa: PLC0415 - as above
        from bentpipe.words.console import as_text  # noqa: PLC0415 - see above

        return f"{self._heading}\n{as_text(table(self, full=False))}"

    def _repr_html_(self) -> str:
        from bentpipe.notebook.tables import as_html, paragraph  # noqa: PLC0415 - see above
        from bentpipe.report.columns import reasons  # noqa: PLC0415 - as above
        from bentpipe.report.sheets import sheets  # noqa: PLC0415 - as above

        parts = [paragraph(self._heading)]
        for sheet in sheets(self):
            parts += [paragraph(sheet.title), as_html(sheet)]
        for why, names in reasons(self.records)[:_REASONS]:
            parts.append(paragraph(f"{len(names)} of {len(self.names)} runs: {why}"))
        return "".join(parts)

    @property
    def _heading(self) -> str:
        several = "s" * (len(self.names) != 1)
        engines = ", ".join(dict.fromkeys(str(record.get("engine", "")) for record in self.records))
        return printable(f"{self.folder}: {len(self.names)} run{several} ({engines})")


_REASONS = 4


def _name(text: str) -> str:
    """A chart's name, with one way to write it."""
    return text.strip().replace("-", "_").replace(" ", "_").lower()
