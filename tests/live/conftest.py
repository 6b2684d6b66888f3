"""Live tests need namespaces and a TUN device: where there are none they say why and are skipped.

A test whose run was disturbed by other work, as the run itself says, is repeated.
"""

import functools
import os

import pytest
from hosting import refusal

from busy import repeated

# Without root there is only the ordinary user, and these tests are the only ones.
_AGAIN = [
    pytest.mark.long("the same run again, by another user; tests/live/test_ordinary_user.py compares both")
]


@pytest.fixture(params=["root", pytest.param("ordinary", marks=_AGAIN if os.geteuid() == 0 else [])])
def user(request: pytest.FixtureRequest) -> str:
    """Each test that asks for a user runs as root and as an ordinary user, as far as we may."""
    name = str(request.param)
    if name == "root" and os.geteuid() != 0:
        pytest.skip("only root can run as root")
    if why := refusal(name):
        pytest.skip(why)
    return name


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    folder = pyfuncitem.funcargs.get("tmp_path")
    if folder is None:
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}

    def warn(why: str) -> None:
        pyfuncitem.warn(pytest.PytestWarning(f"repeated, since its run was unreliable: {why}"))

    repeated(functools.partial(pyfuncitem.obj, **arguments), folder, warn)
    return True
