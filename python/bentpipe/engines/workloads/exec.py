"""`exec`: any command at a host, in a sandbox. Its exit status says whether it did its work."""

from typing import Any

from bentpipe.engines.base import WorkloadResult
from bentpipe.engines.bench import Bench, End
from bentpipe.lab.spec import ExecSpec


def programs(spec: ExecSpec) -> tuple[str, ...]:
    return spec.command[:1]


async def run(spec: ExecSpec, bench: Bench) -> WorkloadResult:
    start_s = spec.start_ns / 1e9
    await bench.sleep_until(start_s)
    end_s = start_s + spec.time_ns / 1e9 if spec.time_ns is not None else None
    program = await bench.start(spec.host, spec.command, sandbox=True).over(end_s)
    entry: dict[str, Any] = {
        "kind": "exec",
        "status": program.exit.status,
        "signal": program.exit.signal,
        "duration_s": program.exit.at_s - program.started_s,
        "completion_s": program.exit.at_s - start_s if program.end is End.EXITED else None,
    }
    for stream, omitted in program.omitted_bytes.items():
        entry[f"{stream}_omitted_bytes"] = omitted
    # Ended at the time that the lab gave it: as asked, not hung.
    if program.fault and program.end is not End.HUNG:
        entry["why"] = program.fault
    tools = [
        {"workload": spec.name, "tool": spec.command[0], "role": f"{spec.host} {stream}", "output": text}
        for stream, text in (("stdout", program.stdout), ("stderr", program.stderr))
    ]
    return WorkloadResult(entry, tools=tools)
