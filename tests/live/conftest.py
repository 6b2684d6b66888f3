"""Live tests need namespaces and a TUN device: where there are none they say why and are skipped."""

import os

import pytest
from hosting import refusal


@pytest.fixture(params=["root", "ordinary"])
def user(request: pytest.FixtureRequest) -> str:
    """Each test that asks for a user runs as root and as an ordinary user, as far as we may."""
    name = str(request.param)
    if name == "root" and os.geteuid() != 0:
        pytest.skip("only root can run as root")
    if why := refusal(name):
        pytest.skip(why)
    return name
