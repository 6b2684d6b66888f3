"""A place is the same to its users on this machine and at a URL."""

import itertools
from pathlib import Path

import pytest

from bentpipe.errors import StoreError
from bentpipe.runs.memory_place import MemoryPlace
from bentpipe.runs.place import LocalPlace, Place, UrlPlace

_numbers = itertools.count()


@pytest.fixture(params=["path", "file://", "memory://", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A folder that is there and empty."""
    if request.param == "path":
        found = Place.of(tmp_path / "out")
    elif request.param == "file://":
        found = Place.of(f"file://{tmp_path}/out")
    elif request.param == "memory":
        found = MemoryPlace("out", {})
    else:
        found = Place.of(f"memory://test-place-{next(_numbers)}/out")
    found.make()
    return found


def test_a_path_and_a_file_url_are_on_this_machine_and_a_url_is_not(tmp_path: Path) -> None:
    assert Place.of(tmp_path) == Place.of(str(tmp_path)) == Place.of(f"file://{tmp_path}")
    assert Place.of(tmp_path).path == tmp_path
    assert isinstance(Place.of("memory://x"), UrlPlace)
    assert Place.of("memory://x").path is None


def test_a_place_is_its_own_place(tmp_path: Path) -> None:
    place = Place.of(tmp_path)
    assert Place.of(place) is place


def test_the_folder_one_is_in_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Place.of(".").name == tmp_path.name


def test_what_is_written_is_there_with_its_folders_and_under_its_name(place: Place) -> None:
    run = place / "001"
    run.make()
    (run / "run.json").write_bytes(b"{}")
    assert place.exists()
    assert place.is_folder()
    assert not (run / "run.json").is_folder()
    assert run.name == "001"
    assert place.names() == ["001"]
    assert run.names() == ["run.json"]
    assert (run / "run.json").read_bytes() == b"{}"
    file, stamp = (run / "run.json").open()
    with file:
        assert file.read_at(1, 5) == b"}"
    assert stamp in {None, (run / "run.json").stamp()}


def test_writing_again_replaces_the_file_and_leaves_nothing_else(place: Place) -> None:
    (place / "runs.parquet").write_bytes(b"old")
    (place / "runs.parquet").write_bytes(memoryview(b"newer"))
    assert (place / "runs.parquet").read_bytes() == b"newer"
    assert place.names() == ["runs.parquet"]


def test_a_write_that_cannot_end_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = Place.of(tmp_path) / "runs.parquet"
    file.write_bytes(b"old")

    def full(path: Path, content: bytes) -> int:
        with path.open("wb") as half:
            half.write(content[:2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match=r"No space left on device: .*runs\.parquet"):
        file.write_bytes(b"newer")
    assert file.read_bytes() == b"old"
    assert Place.of(tmp_path).names() == ["runs.parquet"]


def test_what_is_removed_is_gone_and_what_is_not_there_may_be_removed(place: Place) -> None:
    (place / "001").make()
    (place / "001" / "run.json").write_bytes(b"{}")
    (place / "lab.json").write_bytes(b"{}")
    (place / "001").remove()
    (place / "lab.json").remove()
    (place / "002").remove()
    assert place.names() == []


def test_stamps_are_of_the_folders_that_hold_the_file_and_are_not_staged(place: Place) -> None:
    for name in ("1", "2", ".3.part"):
        (place / name).make()
        (place / name / "run.json").write_bytes(b"{}")
    (place / "4").make()
    (place / "4" / "link.parquet").write_bytes(b"PAR1")
    (place / "1" / "deeper").make()
    (place / "1" / "deeper" / "run.json").write_bytes(b"{}")
    (place / "run.json").write_bytes(b"[]")
    found = place.stamps("run.json")
    assert sorted(found) == ["1", "2"]
    assert found["1"].size_bytes == 2
    assert found["1"] == (place / "1" / "run.json").stamp()


def test_a_file_written_anew_has_another_stamp(place: Place) -> None:
    (place / "a").make()
    before = (place / "a" / "run.json").stamp()
    (place / "a" / "run.json").write_bytes(b"{}")
    first = (place / "a" / "run.json").stamp()
    (place / "a" / "run.json").write_bytes(b"{ }")
    assert before is None
    assert first != (place / "a" / "run.json").stamp()


def test_what_is_not_there_is_said_with_its_place_and_lists_nothing(place: Place) -> None:
    missing = place / "none"
    assert not missing.exists()
    assert missing.names() == []
    assert missing.stamps("run.json") == {}
    with pytest.raises(StoreError, match="none is not there"):
        missing.read_bytes()
    with pytest.raises(StoreError, match="none is not there"):
        missing.open()


def test_a_url_of_no_known_kind_is_refused_with_those_known() -> None:
    with pytest.raises(
        StoreError, match=r"zz://x: Protocol not known: zz; expected file, s3, gs, abfs, sftp or another"
    ):
        Place.of("zz://x")


def test_only_what_renames_a_folder_at_once_says_so(tmp_path: Path) -> None:
    assert LocalPlace(tmp_path).renames
    assert not Place.of("memory://x").renames
