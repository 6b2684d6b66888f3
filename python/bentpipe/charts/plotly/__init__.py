"""Charts as plotly figures in plain JSON, for the page."""

from bentpipe.charts.plotly.drawing import DARK_FOR_LIGHT, figures, keys

__all__ = ["DARK_FOR_LIGHT", "figures", "keys"]
