"""What was swept is printed as the lab file has it."""

from typing import Any

import pytest

from bentpipe.analysis.swept import coordinates
from bentpipe.words.wording import point_words
from bentpipe.words.written import written


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("30 ms", "30 ms"),
        (0.01, "0.01"),
        (True, "true"),
        ([4096, 131072, 6291456], "[4096, 131072, 6291456]"),
        (["a", "b"], '["a", "b"]'),
        ({"name": "cubic", "beta": 0.5}, 'name = "cubic", beta = 0.5'),
        ({"limit": "1 MB", "red": {"ecn": False}}, 'limit = "1 MB", red = { ecn = false }'),
        ({}, "{}"),
    ],
)
def test_a_swept_value_is_printed_as_in_toml(value: Any, words: str) -> None:
    assert written(value) == words


def test_a_swept_table_is_no_python_dict_on_axes_and_in_legends() -> None:
    point = {"path.queue": {"limit": "1 MB", "discipline": "pie"}}
    assert coordinates(point, "as is")["path.queue"] == 'limit = "1 MB", discipline = "pie"'
    assert point_words(point) == ['queue limit = "1 MB", discipline = "pie"']
