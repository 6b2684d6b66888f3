"""The page's scripts pass their own tests, and the library is the one that npm has checked."""

import subprocess
from pathlib import Path

HERE = Path(__file__).parents[2]


def done(*command: str) -> None:
    ended = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_scripts_do_what_their_tests_claim() -> None:
    done("node", "--test", *map(str, sorted(HERE.glob("tests/report/page/*.test.js"))))


def test_the_library_is_the_package_that_the_lock_file_names() -> None:
    held = HERE / "python/bentpipe/report/page/vendor/plotly-cartesian.min.js"
    package = HERE / "node_modules/plotly.js-cartesian-dist-min/plotly-cartesian.min.js"
    assert held.read_bytes() == package.read_bytes()
