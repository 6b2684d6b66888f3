"""The model that train.py fits, and what scikit-learn fitted as arrays that the doctor reads (boosted.py)."""

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from bentpipe.doctor.arrays import Floats
from bentpipe.doctor.boosted import Trees

_ROUNDS = 150
_PACE = 0.08
_LEAVES = 15
_LEAST_IN_A_LEAF = 15
_PENALTY = 1.0
_SIGNS_AT_A_NODE = 0.3
"""The share of the signs among which each node chooses."""
_NEVER = -20.0
"""The score of a cause without a run."""


def model() -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(
        max_iter=_ROUNDS,
        learning_rate=_PACE,
        max_leaf_nodes=_LEAVES,
        min_samples_leaf=_LEAST_IN_A_LEAF,
        l2_regularization=_PENALTY,
        max_features=_SIGNS_AT_A_NODE,
        early_stopping=False,
        random_state=1,
    )


def trees(names: list[str], causes: tuple[str, ...], fit: Any, more: Floats) -> Trees:
    """What scikit-learn fitted, in one row of nodes. `more`: less of each cause's score."""
    every = [
        (cause, tree.nodes)
        for each in fit._predictors
        for cause, tree in zip(fit.classes_, each, strict=True)
    ]
    score = np.full(len(causes), _NEVER)
    score[fit.classes_] = np.ravel(fit._baseline_prediction)
    begins = np.cumsum([0, *(len(nodes) for _, nodes in every)])[:-1]
    nodes = np.concatenate([nodes for _, nodes in every])
    first = np.concatenate([np.full(len(of), begin) for (_, of), begin in zip(every, begins, strict=True)])
    leaf, own = nodes["is_leaf"] > 0, np.arange(len(nodes))
    left, right = (np.where(leaf, own, first + nodes[name]) for name in ("left", "right"))
    return Trees(
        names=names,
        causes=causes,
        score=score - more,
        root=begins,
        cause=np.array([cause for cause, _ in every]),
        depth=int(nodes["depth"].max()),
        sign=np.where(leaf, 0, nodes["feature_idx"]).astype(np.uint8),
        most=_no_less(np.where(leaf, 0.0, nodes["num_threshold"])),
        left_unknown=nodes["missing_go_to_left"] > 0,
        left=left.astype(np.int32),
        right=right.astype(np.int32),
        value=np.where(leaf, nodes["value"], 0.0).astype(np.float32),
    )


def _no_less(thresholds: Floats) -> Any:
    """In half the bytes. A threshold may be a sign's own value, which has to stay on its side."""
    nearest = thresholds.astype(np.float32)
    return np.where(nearest < thresholds, np.nextafter(nearest, np.float32(np.inf)), nearest)
