"""scripts/release: what stops a release, and what its notes and checksums are."""

import subprocess
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "release"
CARGO = '[workspace.package]\nversion = "1.2.3"\n'
LOCK = (
    '[[package]]\nname = "bentpipe-sim"\nversion = "1.2.3"\n[[package]]\nname = "libm"\nversion = "0.2.16"\n'
)
CHANGELOG = "# Changes\n\n## 1.2.3 - 2026-01-31\n- A change.\n\n## 1.2.2 - 2026-01-01\n- An older one.\n"


@pytest.fixture(scope="module")
def release() -> ModuleType:
    loader = SourceFileLoader("release", str(SCRIPT))
    module = module_from_spec(spec_from_loader("release", loader) or pytest.fail("no such script"))
    loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository that may be released as 1.2.3."""
    (tmp_path / "Cargo.toml").write_text(CARGO)
    (tmp_path / "Cargo.lock").write_text(LOCK)
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    own = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", folder, *own, *arguments], check=True)


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "all")


def test_a_clean_checkout_with_a_section_of_its_version_may_be_released(
    release: ModuleType, checkout: Path
) -> None:
    assert release.version_of(checkout) == "1.2.3"
    assert release.faults_of(checkout, "1.2.3") == []


@pytest.mark.parametrize(
    ("file", "text", "fault"),
    [
        ("CHANGELOG.md", "# Changes\n\n## 1.2.2\n- a\n", 'CHANGELOG.md has no section "## 1.2.3 - 20'),
        ("CHANGELOG.md", "# Changes\n\n## 1.2.3\n\n", "the section 1.2.3 of CHANGELOG.md is empty"),
        (
            "CHANGELOG.md",
            "## Unreleased\n- more\n" + CHANGELOG,
            "CHANGELOG.md has changes that are unreleased beside the section 1.2.3",
        ),
        (
            "Cargo.lock",
            LOCK.replace("1.2.3", "1.2.2"),
            "Cargo.lock has bentpipe's crates as 1.2.2; run cargo check",
        ),
    ],
)
def test_each_fault_is_named(release: ModuleType, checkout: Path, file: str, text: str, fault: str) -> None:
    (checkout / file).write_text(text)
    commit(checkout)
    (said,) = release.faults_of(checkout, "1.2.3")
    assert said.startswith(fault)


def test_what_is_not_committed_is_not_released(release: ModuleType, checkout: Path) -> None:
    (checkout / "new").touch()
    assert release.faults_of(checkout, "1.2.3") == ["the tree is not clean: 1 files are not committed"]


def test_a_version_is_released_once(release: ModuleType, checkout: Path) -> None:
    git(checkout, "tag", "v1.2.3")
    (said,) = release.faults_of(checkout, "1.2.3")
    assert said == "the tag v1.2.3 is there already; raise the version in Cargo.toml"


def test_notes_are_the_section_and_checksums_are_those_that_sha256sum_checks(
    release: ModuleType, checkout: Path
) -> None:
    (checkout / "dist").mkdir()
    notes = release.notes_file(checkout, "1.2.3")
    assert notes.read_text() == "bentpipe 1.2.3\n\n- A change.\n"
    sums = release.checksums([notes])
    subprocess.run(["sha256sum", "--check", "--quiet", sums.name], cwd=sums.parent, check=True)


def test_this_checkout_has_one_version(release: ModuleType) -> None:
    root = SCRIPT.parents[1]
    version = release.version_of(root)
    assert not [
        fault for fault in release.faults_of(root, version) if "Cargo" in fault and "tag" not in fault
    ]
