"""What the machine is, read from folders made for it."""

from pathlib import Path

import pytest

from bentpipe.engines.machine import has_processor_quota


@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        ("0::/", {}, False),
        ("0::/", {"cpu.max": "max 100000\n"}, False),
        ("0::/", {"cpu.max": "150000 100000\n"}, True),
        ("0::/user.slice/it.scope", {"user.slice/cpu.max": "50000 100000\n"}, True),
        ("0::/user.slice/it.scope", {"user.slice/it.scope/cpu.max": "max 100000\n"}, False),
        ("3:cpu:/\n0::/", {"cpu/cpu.cfs_quota_us": "-1\n"}, False),
        ("3:cpu,cpuacct:/it\n1:name=systemd:/it", {"cpu,cpuacct/it/cpu.cfs_quota_us": "50000\n"}, True),
        ("", {}, False),
    ],
)
def test_a_quota_of_any_group_above_is_found(
    groups: str, files: dict[str, str], expected: bool, tmp_path: Path
) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(groups)
    for name, text in files.items():
        file = tmp_path / "sys/fs/cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert has_processor_quota(tmp_path) is expected
