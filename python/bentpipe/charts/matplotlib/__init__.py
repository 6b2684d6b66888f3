"""Charts as PNG, SVG and PDF."""

from bentpipe.errors import MissingExtraError

try:
    from bentpipe.charts.matplotlib.drawing import figure, png, save
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "matplotlib":
        raise
    raise MissingExtraError("a chart as a picture", "matplotlib", "charts") from error

__all__ = ["figure", "png", "save"]
