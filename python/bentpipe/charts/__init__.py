"""What to draw (descriptions built from results), then how (matplotlib for files, plotly for the page)."""

from bentpipe.charts.files import over_all, save_all

__all__ = ["over_all", "save_all"]
