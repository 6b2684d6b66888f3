"""The one parser of directions, and who sends in which."""

import pytest

from bentpipe.runs.asked import direction_of
from bentpipe.words.direction import Direction


def test_a_direction_is_the_word_that_tables_have() -> None:
    assert [str(direction) for direction in Direction] == ["down", "up"]
    assert [Direction.parse(word) for word in ("down", "up")] == list(Direction)


@pytest.mark.parametrize("word", [None, "", "Down", "both", 1, ["down"], {}])
def test_any_other_word_or_value_is_no_direction(word: object) -> None:
    assert Direction.parse(word) is None


def test_the_server_sends_down_and_the_client_up() -> None:
    assert (Direction.DOWN.sender, Direction.DOWN.receiver) == ("server", "client")
    assert (Direction.UP.sender, Direction.UP.receiver) == ("client", "server")


@pytest.mark.parametrize(
    ("measured", "asked", "expected"),
    [
        ({"direction": "up"}, "down", Direction.UP),
        ({}, "down", Direction.DOWN),
        ({}, "both", None),
        ({"direction": "sideways"}, "up", Direction.UP),
    ],
)
def test_a_record_says_the_direction_that_was_measured_or_else_the_one_asked_for(
    measured: dict[str, str], asked: str, expected: Direction | None
) -> None:
    record = {
        "workloads": {"transfer": measured},
        "spec": {"workloads": [{"name": "transfer", "direction": asked}]},
    }
    assert direction_of(record, "transfer") is expected
