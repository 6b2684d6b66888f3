"""Files are written whole or not at all, and into what is no regular file as it is."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from bentpipe.whole_file import write_whole


def test_a_file_is_replaced_in_one_step_and_keeps_its_permissions(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_bytes(b"old")
    file.chmod(0o600)
    with file.open("rb") as reader:
        write_whole(file, b"new")
        assert reader.read() == b"old"
    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    write_whole(file, b"newer", mode=0o644)
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path: Path, is_there: bool) -> None:
    file, link = tmp_path / "real", tmp_path / "link"
    if is_there:
        file.write_bytes(b"old")
    link.symlink_to("real")
    write_whole(link, b"new")
    assert link.is_symlink()
    assert file.read_bytes() == b"new"


@pytest.mark.parametrize("name", ["/dev/stdout", "out"])
@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="Windows has no such name")
def test_what_is_printed_to_the_same_file_stays_before_and_after(tmp_path: Path, name: str) -> None:
    program = (
        "import sys\n"
        "from bentpipe.whole_file import Path, write_whole\n"
        "print('one', flush=True)\n"
        "write_whole(Path(sys.argv[1]), b'two')\n"
        "print('three')\n"
    )
    file = tmp_path / "out"
    with file.open("wb") as into:
        subprocess.run([sys.executable, "-c", program, name], stdout=into, check=True, cwd=tmp_path)
    assert file.read_bytes() == b"one\ntwothree\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such pipes")
def test_a_pipe_stays_and_its_reader_gets_the_content(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, b"content")
    reader.join()
    assert read == [b"content"]
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_an_error_names_the_file_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for file in (tmp_path / "folder", tmp_path / "gone" / "x"):
        with pytest.raises(OSError) as caught:
            write_whole(file, b"content")
        assert caught.value.filename == str(file)
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]
