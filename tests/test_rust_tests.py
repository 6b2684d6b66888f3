"""scripts/rust-tests, with a cargo that only names programs; and what the manifests have it leave out."""

import json
import os
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "scripts" / "rust-tests"


def said(folder: Path, *options: str, **programs: str) -> subprocess.CompletedProcess[str]:
    """What the script says of programs with these shell scripts."""
    lines = [json.dumps({"reason": "build-finished", "success": True})]
    for name, script in programs.items():
        program(folder / name, script)
        manifest = str(folder / "Cargo.toml")
        lines += [
            json.dumps(
                {
                    "reason": "compiler-artifact",
                    "target": {"name": name},
                    "manifest_path": manifest,
                    "profile": {"test": tested},
                    "executable": executable,
                }
            )
            for tested, executable in ((True, str(folder / name)), (False, str(folder / name)), (True, None))
        ]
    (folder / "messages").write_text("\n".join(lines) + "\n")
    seen = f'echo "${{CARGO_MANIFEST_DIR-none}}" >>"{folder}/cargo-saw"'
    program(folder / "bin" / "cargo", f'{seen}\ncase "$*" in *--no-run*) cat "{folder}/messages";; esac')
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    return subprocess.run(
        [SCRIPT, *options], env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
    )


def program(file: Path, script: str) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


def test_each_program_runs_once_in_its_packages_folder(tmp_path: Path) -> None:
    passing = "pwd >>places; echo 'test result: ok. 7 passed; 0 failed'"
    ended = said(tmp_path, first=passing, second=passing)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (tmp_path / "places").read_text().split() == [str(tmp_path)] * 2
    assert f"{tmp_path.name} first: 7 passed" in ended.stdout
    assert ended.stdout.endswith("2 of 2 programs with Rust tests passed\n")


def test_with_all_the_long_tests_and_the_documentation_run_too(tmp_path: Path) -> None:
    ended = said(tmp_path, "--all", first='echo "$@" >arguments')
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (tmp_path / "arguments").read_text() == "--include-ignored\n"
    assert ended.stdout.endswith("2 of 2 programs with Rust tests passed\n")  # and the documentation
    said(tmp_path, first='echo "$@" >arguments')
    assert (tmp_path / "arguments").read_text() == "\n"


def test_a_program_finds_its_package_and_cargo_its_own_environment_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CARGO_MANIFEST_DIR", raising=False)
    said(tmp_path, "--all", first='echo "$CARGO_MANIFEST_DIR" >program-saw')
    assert (tmp_path / "program-saw").read_text().split() == [str(tmp_path)]
    # Another value would have cargo compile again what depends on ring.
    assert (tmp_path / "cargo-saw").read_text().split() == ["none", "none"]


def test_a_program_that_fails_is_shown_in_full_and_the_others_run(tmp_path: Path) -> None:
    ended = said(tmp_path, bad="echo 'assertion failed' >&2; exit 101", good="echo 'ok. 1 passed'")
    assert (ended.returncode, ended.stderr) == (1, "failed: bad\n")
    assert f"assertion failed\n\n{tmp_path.name} bad: FAILED, status 101" in ended.stdout
    assert f"{tmp_path.name} good: 1 passed" in ended.stdout


def test_no_program_at_all_is_a_failure(tmp_path: Path) -> None:
    ended = said(tmp_path)
    assert (ended.returncode, "named no program" in ended.stderr) == (1, True)


def test_a_library_whose_tests_are_not_built_has_none() -> None:
    untested = [
        manifest.parent
        for manifest in ROOT.glob("crates/*/Cargo.toml")
        if not tomllib.loads(manifest.read_text()).get("lib", {}).get("test", True)
    ]
    assert ROOT / "crates/python" in untested
    for crate in untested:
        assert [file for file in crate.glob("src/**/*.rs") if "#[test]" in file.read_text()] == []
