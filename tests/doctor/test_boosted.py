"""Boosted trees: chances as those of the library that fits them."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bentpipe.doctor.boosted import Trees, from_arrays
from bentpipe.doctor.drop_causes import AT_RECEIVER, CAUSES, IN_CAPTURES, _trees

FITTING = Path(__file__).parents[2] / "benches" / "doctor" / "fitting.py"

ENDS = {
    **dict.fromkeys(("sender", "sender of several", "sender of bbr"), CAUSES),
    **dict.fromkeys(("receiver", "receiver of several"), AT_RECEIVER),
    **dict.fromkeys(("packets at sender", "packets at receiver"), IN_CAPTURES),
}
WITHOUT_LABS = {"receiver of several": {"sender-application"}}
"""Causes that no lab of the training half has there."""
STUMP = Trees(
    names=["a", "b"],
    causes=["one", "other"],
    score=np.array([0.0, np.log(3)]),
    root=np.array([0]),
    cause=np.array([1]),
    depth=1,
    sign=np.array([1, 0, 0]),
    most=np.array([2.0, 0.0, 0.0]),
    left_unknown=np.array([True, False, False]),
    left=np.array([1, 1, 2]),
    right=np.array([2, 1, 2]),
    value=np.array([0.0, -np.log(3), np.log(3)]),
)
"""If b is at most 2 or not known, both causes are equally likely. Else the other one is, nine to one."""


@pytest.mark.parametrize(
    ("signs", "chance"),
    [
        ({"b": 2.0}, 0.5),
        ({"b": 2.1}, 0.9),
        ({"a": 5.0}, 0.5),
        ({"b": float("nan")}, 0.5),
        ({"b": float("inf")}, 0.5),
    ],
)
def test_a_tree_asks_for_one_sign_and_knows_a_side_for_an_unknown_one(
    signs: dict[str, float], chance: float
) -> None:
    assert STUMP.of(signs)["other"] == pytest.approx(chance)


def test_chances_are_those_of_the_library_that_fitted_the_trees() -> None:
    fitting = runpy.run_path(str(FITTING))
    random = np.random.default_rng(1)
    said = np.arange(300) % 3
    table = random.normal(np.column_stack([said, np.zeros(300)]), 1.0)
    table[::7, 0] = np.nan
    fit = fitting["model"]().fit(table, said)
    trees = fitting["trees"](["a", "b"], CAUSES, fit, np.zeros(len(CAUSES)))
    kept = from_arrays(trees.as_arrays("sender"), "sender")
    found = np.array([list(kept.of({"a": a, "b": b}).values()) for a, b in table])
    assert np.abs(found[:, :3] - fit.predict_proba(table)).max() < 1e-5
    assert found[:, 3:].max() < 1e-6


@pytest.mark.parametrize("end", ENDS)
def test_every_end_has_trees_of_all_causes_that_its_labs_have(end: str) -> None:
    trees = _trees(end)
    assert tuple(trees.causes) == ENDS[end]
    own = {trees.causes[number] for number in trees.cause}
    assert own == set(ENDS[end]) - WITHOUT_LABS.get(end, set())


@given(end=st.sampled_from(list(ENDS)), values=st.lists(st.floats(), min_size=1, max_size=80))
def test_chances_of_any_signs_are_a_distribution(end: str, values: list[float]) -> None:
    trees = _trees(end)
    found = trees.of(dict(zip(trees.names, values, strict=False)))
    assert sum(found.values()) == pytest.approx(1.0)
    assert min(found.values()) >= 0.0
