"""TCP that is split, in runs: what the engines do not have yet."""

import pytest

from bentpipe import EngineError, Lab
from bentpipe.engines.live import LiveEngine

LAB = '[path]\nrtt = "550 ms"\n[[workload]]\nkind = "bulk"\ntime = "5 s"\n[split]\n'


def test_live_refuses_a_split_by_name() -> None:
    spec = next(iter(Lab.loads(LAB).cells())).first.spec
    with pytest.raises(EngineError, match="split: the live engine has no split yet"):
        LiveEngine().check(spec)
