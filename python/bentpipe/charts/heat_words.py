"""Names of a heat map's columns, which may be wider than a column."""

import textwrap
from collections.abc import Sequence

_LETTERS, _LETTERS_LEAST = 140, 7
"""What fits in a line over all columns, and what a column has in any case."""


def column_words(names: Sequence[str], columns: int) -> list[list[str]]:
    """Each name in as many lines as its column needs, of so many that stand beside each other."""
    return [textwrap.wrap(name, max(_LETTERS // columns, _LETTERS_LEAST)) or [""] for name in names]
