"""What is kept of what a lab's command prints."""

import asyncio
import json
from pathlib import Path
from typing import Any, cast

import pytest

from bentpipe.engines import bench
from bentpipe.engines.bench import Bench
from bentpipe.engines.host_process import Exit, HostProcess
from bentpipe.engines.workloads import exec as exec_workload
from bentpipe.lab.spec import ExecSpec, RunSpec
from bentpipe.runs import record_shape
from bentpipe.runs.place import Place


class _Host:
    """In place of a host process: the program has printed this, and is over."""

    def __init__(self, stdout: bytes, stderr: bytes, size_bytes: int | None = None) -> None:
        self._streams = {"stdout": stdout, "stderr": stderr}
        self._size_bytes = size_bytes

    def spawn(self, _program: str, **fields: Any) -> asyncio.Future[Exit]:
        for stream, text in self._streams.items():
            file = Path(fields[stream])
            file.write_bytes(text)
            if stream == "stdout" and self._size_bytes is not None:
                with file.open("r+b") as opened:
                    opened.truncate(self._size_bytes)
        future: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        future.set_result(Exit(0, None, None, 1.0))
        return future


def ran(folder: Path, host: _Host) -> tuple[dict[str, Any], dict[str, str]]:
    """The workload's entry of an `exec`, and its outputs."""
    spec = ExecSpec.model_construct(
        name="it", start_ns=0, time_ns=None, command=("print",), host="client", kind="exec"
    )

    async def run() -> Any:
        of = Bench(
            cast(HostProcess, host), RunSpec.model_construct(split=None), folder, seed=1, zero_ns=0, hosts={}
        )
        return await exec_workload.run(spec, of)

    result = asyncio.run(run())
    return result.entry, {row["role"].split()[1]: row["output"] for row in result.tools}


def test_what_a_command_prints_is_kept_whole_up_to_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "OUTPUT_LIMIT_BYTES", 8)
    entry, outputs = ran(tmp_path, _Host(b"12345678", b"no"))
    assert outputs == {"stdout": "12345678", "stderr": "no"}
    assert not [key for key in entry if "omitted" in key]


def test_of_what_a_command_prints_beyond_the_limit_both_ends_are_kept_and_the_record_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "OUTPUT_LIMIT_BYTES", 8)
    entry, outputs = ran(tmp_path, _Host(b"begin and then the end", b"x" * 9))
    assert outputs["stdout"].startswith("begi\n[bentpipe: 14 bytes are left out here")
    assert outputs["stdout"].endswith("]\n end")
    assert entry["stdout_omitted_bytes"] == 14
    assert entry["stderr_omitted_bytes"] == 1
    record_shape.check({"workloads": {"it": json.loads(json.dumps(entry))}}, Place.of(tmp_path))


def test_a_command_cannot_fill_the_memory_with_what_it_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bench.OUTPUT_LIMIT_BYTES <= 100_000_000
    limit, printed = 100_000, 10**11  # a file with a hole, longer than any memory
    monkeypatch.setattr(bench, "OUTPUT_LIMIT_BYTES", limit)
    entry, outputs = ran(tmp_path, _Host(b"", b"", size_bytes=printed))
    assert len(outputs["stdout"]) < limit + 200
    assert entry["stdout_omitted_bytes"] == printed - limit
