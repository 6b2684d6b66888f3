"""Errors go from one process to another: pools and clusters pickle what their workers raise."""

import copy
import pickle

import pytest

from bentpipe import errors
from bentpipe.errors import BentpipeError
from bentpipe.interchange.foreign import ForeignFileError

ERRORS = {
    errors.LabError: ("a.toml:3", "path.rtt", '"x"', 'did you mean "5 s"? Units of time: s'),
    errors.MissingExtraError: ("a question in SQL", "DuckDB", "query"),
    ForeignFileError: ("a.json", "no such file", "name one that is there"),
}


def family(kind: type[BentpipeError]) -> list[type[BentpipeError]]:
    return [kind, *(each for below in kind.__subclasses__() for each in family(below))]


@pytest.mark.parametrize("kind", family(BentpipeError), ids=lambda kind: kind.__name__)
def test_an_error_that_was_pickled_or_copied_says_and_holds_the_same(kind: type[BentpipeError]) -> None:
    error = kind(*ERRORS.get(kind, ("what is wrong",)))
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(other) is kind
        assert (str(other), other.args, vars(other)) == (str(error), error.args, vars(error))
