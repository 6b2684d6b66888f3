"""The engine's error report in plain words: each figure, and what it means for the run."""

from collections.abc import Mapping
from typing import Any

from bentpipe.analysis.cells import is_imported
from bentpipe.charts.build.lateness import sentence as lateness_sentence
from bentpipe.runs.asked import base_rtt_s
from bentpipe.runs.figures.host_waits import programs, waits_are_counted
from bentpipe.words.wording import duration, percent, plural


def sentences(record: Mapping[str, Any]) -> list[str]:
    """What to say of a run's engine, most telling first. Says so where there is no report."""
    error = record.get("engine_error") or {}
    if record.get("engine") == "sim":
        return [
            "This run was computed in virtual time: nothing was late and nothing was lost outside the model."
        ]
    if is_imported(record):
        tool = record.get("source", {}).get("tool", "another program")
        return [f"This run was imported from a file of {tool}: of its own error nothing is known."]
    if not error:
        return ["The engine left no error report: discard this run."]
    found = (_lateness(record, error), _loss(error), _rate(error), _headroom(error), *_hosts(error))
    return [words for words in found if words]


def _lateness(record: Mapping[str, Any], error: Mapping[str, Any]) -> str:
    words = lateness_sentence(error)
    base, late_us = base_rtt_s(record), error.get("lateness_us_p99")
    if words and base and late_us is not None:
        share = percent(late_us / 1e6 / base)
        words += f" That is at most {share} of the round trip of {duration(base)} for those 99."
    return words


def _loss(error: Mapping[str, Any]) -> str:
    lost = error.get("unintended_loss")
    if lost is None:
        return "What was lost outside the model was not counted."
    if lost == 0:
        return "No packet was lost outside the model: every loss here is one that the lab asked for."
    return (
        f"{plural(lost, 'packet')} got lost outside the model: TCP met losses that the lab did not ask for."
    )


def _rate(error: Mapping[str, Any]) -> str:
    rate_error = error.get("rate_error")
    if rate_error is None:
        return "The path has no rate to be compared with."
    off = percent(abs(rate_error))
    return f"While the shaper had something to send, its rate was within {off} of the one set."


def _headroom(error: Mapping[str, Any]) -> str:
    headroom = error.get("cpu_headroom")
    if headroom is None:
        return ""
    left = f"The busiest datapath thread left {percent(headroom)} of a processor unused"
    return f"{left}: the machine could hardly keep up." if headroom < 0.1 else f"{left}."


def _hosts(error: Mapping[str, Any]) -> list[str]:
    hosts = error.get("hosts")
    if not hosts:
        return []
    stops = [
        f"{program['program']} on the {host} was stopped for about {duration(program['stopped_s'])}, "
        f"from about {program['stopped_at_s']:.1f} s."
        for host, program in programs(hosts)
        if program.get("stopped_s")
    ]
    return [*stops, _waits(hosts)]


def _waits(hosts: Mapping[str, Any]) -> str:
    if not waits_are_counted(hosts):
        return "This kernel does not count what the hosts' programs waited for a processor."
    waited = max(
        (
            (program["wait_share"], program["wait_max_ms"], f"{program['program']} on the {host}")
            for host, program in programs(hosts)
            if program.get("wait_share") is not None
        ),
        default=None,
    )
    if waited is None:
        return "No program ran on a host long enough to be seen waiting for a processor."
    share, longest_ms, who = waited
    return (
        f"The program that waited most for a processor was {who}: {percent(share)} of its time, "
        f"at most {duration(longest_ms / 1e3)} within 0.1 s."
    )
