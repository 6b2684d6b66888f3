"""What README tells Python to do can be done, and gives the data connection of one run alone."""

import re
from pathlib import Path
from typing import Any

import pytest


def test_the_readmes_python_gives_one_senders_samples(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    page = (pytestconfig.rootpath / "README.md").read_text(encoding="utf-8")
    (lab,) = re.findall(r"```toml\n# my\.toml\n(.*?)```", page, flags=re.S)
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.S)
    (tmp_path / "my.toml").write_text(lab, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert 'engine="live"' in code
    found: dict[str, Any] = {}
    exec(code.replace('engine="live"', 'engine="sim"'), found)
    sending = found["sending"]
    assert len(found["results"].names) > 1
    assert sending["local_port"].n_unique() == sending["remote_port"].n_unique() == 1
    assert sending["time_s"].is_unique().all()
    assert sending["bytes_acked"].max() > 1_000_000
