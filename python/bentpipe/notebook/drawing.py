"""A chart that a notebook shows as a picture; its sentence is the alternative text."""

from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bentpipe.charts.description import Chart
from bentpipe.errors import MissingExtraError, StoreError

_FORMATS = ("png", "svg", "pdf")


@dataclass(frozen=True, repr=False)
class Drawing:
    """A chart of results.

    Attributes:
        name: by which `Results.chart` gives it.
        title: what it shows.
        sentence: what is to be seen in it, with figures; may be empty.
    """

    _chart: Chart

    @property
    def name(self) -> str:
        return self._chart.name

    @property
    def title(self) -> str:
        return self._chart.title

    @property
    def sentence(self) -> str:
        return " ".join(filter(None, (self._chart.sentence, *(p.sentence for p in self._chart.panels))))

    def save(self, path: str | Path) -> Path:
        """Write it as PNG, SVG or PDF, by the name's ending. Raises StoreError for another."""
        from bentpipe.charts import matplotlib  # noqa: PLC0415 - slow to load

        file = Path(path)
        if file.suffix.removeprefix(".") not in _FORMATS:
            raise StoreError(f"{file}: found the ending {file.suffix!r}; expected .png, .svg or .pdf")
        if not file.parent.is_dir():
            raise StoreError(f"{file}: there is no folder {file.parent}")
        matplotlib.save(self._chart, file)
        return file

    def __repr__(self) -> str:
        return f"{self.title}. {self.sentence}".rstrip(" ")

    def _repr_png_(self) -> bytes:
        from bentpipe.charts import matplotlib  # noqa: PLC0415 - slow to load

        return matplotlib.png(self._chart)

    def _repr_mimebundle_(
        self,
        include: Container[str] | None = None,  # noqa: ARG002 - IPython's interface
        exclude: Container[str] | None = None,  # noqa: ARG002 - as above
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        words = repr(self)
        try:
            picture = self._repr_png_()
        except MissingExtraError as error:
            return {"text/plain": f"{words}\n{error}"}, {}
        return {"image/png": picture, "text/plain": words}, {"image/png": {"alt": words}}
