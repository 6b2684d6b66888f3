"""`bentpipe gateway` hands its arguments over."""

import os
import subprocess
import sys
from pathlib import Path


def _bentpipe(*arguments: str, path: Path) -> subprocess.CompletedProcess[str]:
    # Nothing is beside this bentpipe and its Python.
    environment = {**os.environ, "PATH": str(path)}
    code = "import sys; sys.argv[0] = '/nowhere/bentpipe'; sys.executable = '/nowhere/python'\n"
    code += "from bentpipe.cli import main; main()"
    command = [sys.executable, "-c", code, "gateway", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)


def test_arguments_options_and_status_are_the_programs(tmp_path: Path) -> None:
    program = tmp_path / "bentpipe-gateway"
    program.write_text('#!/bin/sh\nfor each; do echo "[$each]"; done\nexit 7\n', encoding="utf-8")
    program.chmod(0o755)
    done = _bentpipe("status", "--json", "--help", "-x", "a b", path=tmp_path)
    assert done.stdout.splitlines() == ["[status]", "[--json]", "[--help]", "[-x]", "[a b]"]
    assert done.returncode == 7


def test_where_it_is_not_installed_one_line_says_so(tmp_path: Path) -> None:
    done = _bentpipe("near", path=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "bentpipe-gateway is not installed" in done.stderr
