"""Charts as PNG, SVG and PDF."""

from bentpipe.charts.matplotlib.drawing import figure, png, save

__all__ = ["figure", "png", "save"]
