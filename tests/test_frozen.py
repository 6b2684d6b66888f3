"""Classes by `frozen` behave as by `dataclass(frozen=True)`."""

import pytest

from bentpipe.frozen import frozen


@frozen
class Point:
    x: float
    y: float = 2.0


def test_equal_where_all_fields_are_and_of_one_class() -> None:
    @frozen
    class Other:
        x: float
        y: float = 2.0

    assert Point(1) == Point(1, 2.0) == Point(y=2.0, x=1)
    assert Point(1) != Point(2)
    assert Point(1) != Other(1)
    assert hash(Point(1)) == hash(Point(x=1))
    assert repr(Point(1)) == "Point(x=1, y=2.0)"


@pytest.mark.parametrize(("values", "named"), [((), {}), ((1, 2, 3), {}), ((1,), {"x": 1}), ((1,), {"z": 1})])
def test_fields_that_are_missing_unknown_or_given_twice_are_refused(
    values: tuple[int, ...], named: dict[str, int]
) -> None:
    with pytest.raises(TypeError, match="Point takes x, y, each once"):
        Point(*values, **named)


def test_nothing_is_changed_afterwards() -> None:
    point = Point(1)
    with pytest.raises(AttributeError, match="x"):
        point.x = 3  # type: ignore[misc]
    with pytest.raises(AttributeError, match="x"):
        del point.x
    assert point.x == 1
