"""What to draw (descriptions built from results), then how (matplotlib for files, plotly for the page)."""

from typing import TYPE_CHECKING

from bentpipe.lazy import names_of

if TYPE_CHECKING:
    from bentpipe.charts.files import RUNS_DRAWN, over_all, save_all
else:
    __getattr__ = names_of(
        __name__,
        {
            "RUNS_DRAWN": "bentpipe.charts.files",
            "over_all": "bentpipe.charts.files",
            "save_all": "bentpipe.charts.files",
        },
    )

__all__ = ["RUNS_DRAWN", "over_all", "save_all"]
