"""What to draw (descriptions built from results), then how (matplotlib for files, plotly for the page)."""

from bentpipe.charts.files import RUNS_DRAWN, over_all, save_all

__all__ = ["RUNS_DRAWN", "over_all", "save_all"]
