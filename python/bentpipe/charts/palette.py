"""One colour per role, on light and dark backgrounds.

Hues after M. Okabe and K. Ito, "Color Universal Design" (2008): told apart with any common colour blindness;
shifted in lightness so that each has a contrast of 3:1 or more on its ground (WCAG 2.2, 1.4.11). What comes
in an order goes from blue to yellow, as matplotlib's plasma does.
"""

from collections.abc import Mapping

from bentpipe.charts.description import Role

LIGHT: Mapping[Role, str] = {
    Role.DOWN: "#0068b0",
    Role.UP: "#c96a00",
    Role.PUBLISHED: "#767676",
    Role.CAPACITY: "#1f1f1f",
    Role.CEILING: "#00845f",
    Role.DROPS: "#b3367c",
    Role.CWND: "#8a6d00",
    Role.RECEIVE_WINDOW: "#008a96",
    Role.SEND_BUFFER: "#c4402a",
    Role.RIVAL: "#7d5438",
    Role.SUMMARY: "#3d2b56",
    Role.PING: "#7a5bc4",
    Role.KEYSTROKE: "#4f7a1e",
    Role.ENGINE: "#4d6473",
    Role.FIRST: "#150b7d",
    Role.SECOND: "#6300a7",
    Role.THIRD: "#a62098",
    Role.FOURTH: "#cc4766",
    Role.FIFTH: "#d8612b",
    Role.SIXTH: "#a67c00",
}
DARK: Mapping[Role, str] = {
    Role.DOWN: "#56b4e9",
    Role.UP: "#f0a13a",
    Role.PUBLISHED: "#a8a8a8",
    Role.CAPACITY: "#e6e6e6",
    Role.CEILING: "#2fc79a",
    Role.DROPS: "#e58fbf",
    Role.CWND: "#e3cf4a",
    Role.RECEIVE_WINDOW: "#63d6de",
    Role.SEND_BUFFER: "#f07c62",
    Role.RIVAL: "#c9a284",
    Role.SUMMARY: "#f2e9ff",
    Role.PING: "#b49cf0",
    Role.KEYSTROKE: "#a6cf63",
    Role.ENGINE: "#9db4c4",
    Role.FIRST: "#8f8cff",
    Role.SECOND: "#b97ff2",
    Role.THIRD: "#e07be0",
    Role.FOURTH: "#ff8fa3",
    Role.FIFTH: "#ffa872",
    Role.SIXTH: "#ffd94a",
}
CELLS = ("#f3f8fd", "#c9dff2", "#8fc0e2", "#4a8fc7", "#1a5a9c", "#0a2f62")
"""The scale of cells on either ground, from the best to the worst; its lightness falls evenly, so that it
is read without colours too."""
FRAME = ("#ffffff", "#111111")
"""Round a marked cell, the wider below the narrower: seen beside any colour."""


def ink(shade: float | None) -> str:
    """What to write with in a cell of that shade; where it turns, both have a contrast of about 4.5:1."""
    return "#ffffff" if shade is not None and shade >= _LIGHT_INK_FROM else "#111111"


_LIGHT_INK_FROM = 0.68
UNKNOWN = "#eeeeee"
"""Of a cell without a shade."""
