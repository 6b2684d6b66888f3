"""A record (run.json) that comes from anywhere is refused by the key that is wrong, before it is used."""

import json
from pathlib import Path
from typing import Any

import pytest

from bentpipe.errors import StoreError
from bentpipe.runs.store import Results

SOUND: dict[str, Any] = {
    "lab": "x",
    "variant": "as is",
    "seed": 1,
    "why": [],
    "point": {"path.rtt": "30 ms", "host.count": "any"},
    "sysctl": {"client": {"net.ipv4.tcp_sack": "1"}},
    "workloads": {
        "bytes": {"kind": "bulk", "direction": "down", "goodput_mbit_s": 2.5, "note": "any"},
        "web": {"kind": "http", "per_fetch": [{"total_s": 1.0, "cache": "hit"}], "fetch_times": {"count": 1}},
    },
    "engine_error": {"hosts": {"client": {"programs": [{"program": "curl", "stopped_s": 0.0}]}}},
    "spec": {
        "path": {"down": {"queue": {"limit": {"unit": "bdp", "multiple": 1.0}}}},
        "workloads": [{"name": "web"}],
    },
}


def opened(folder: Path, key: str, value: object) -> dict[str, Any]:
    """The record as it is read with that at the dotted key."""
    record = json.loads(json.dumps(SOUND))
    *parents, last = key.split("/")
    place = record
    for parent in parents:
        place = place[int(parent) if parent.isdigit() else parent]
    place[int(last) if last.isdigit() else last] = value
    (folder / "one").mkdir()
    (folder / "one" / "run.json").write_text(json.dumps(record))
    return Results.open(folder).records[0]


def test_a_sound_record_is_read_as_it_is(tmp_path: Path) -> None:
    found = opened(tmp_path, "lab", "x")
    assert {key: found[key] for key in SOUND} == SOUND


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("variant", 1e300, "variant: found 1e+300; expected text"),
        ("reliable", "no", 'reliable: found "no"; expected true or false'),
        ("why", [5], "why[0]: found 5; expected text"),
        ("seed", 10**400, "expected a number that fits in a float"),
        ("workloads/bytes/kind", {"x": 1}, 'workloads.bytes.kind: found {"x": 1}; expected text'),
        (
            "workloads/bytes/direction",
            "left",
            'workloads.bytes.direction: found "left"; expected "down" or "up"',
        ),
        ("workloads/bytes/retransmits", [], "workloads.bytes.retransmits: found []; expected a number"),
        (
            "workloads/bytes/goodput_mbit_s",
            "x",
            'workloads.bytes.goodput_mbit_s: found "x"; expected a number',
        ),
        ("workloads/bytes/goodput_mbit_s", float("nan"), "found NaN; expected a finite number"),
        ("workloads/bytes/goodput_mbit_s", 1e308, "found 1e+308; expected a number of at most 1e+19"),
        ("workloads/bytes/note", [[float("inf")]], "found Infinity; expected a finite number"),
        ("workloads/web/per_fetch/0", 1, "workloads.web.per_fetch[0]: found 1; expected an object"),
        ("workloads/web/per_fetch/0/cache", [], "workloads.web.per_fetch[0].cache: found []; expected text"),
        ("workloads/web/fetch_times", "x", 'workloads.web.fetch_times: found "x"; expected an object'),
        ("workloads/web/fetch_times/not_finished", {}, "not_finished: found {}; expected a number"),
        ("engine_error/hosts/client/programs", [1], "programs[0]: found 1; expected an object"),
        ("engine_error/lateness_us_p99", 10**400, "expected a number that fits in a float"),
        ("sysctl/client", "x", 'sysctl.client: found "x"; expected an object'),
        ("spec/near", 7, "spec.near: found 7; expected an object"),
        ("spec/server", {"sysctl": 0}, "spec.server.sysctl: found 0; expected an object"),
        ("spec/workloads/0", 1, "spec.workloads[0]: found 1; expected an object"),
        ("spec/path/base_rtt_ns", "x", 'spec.path.base_rtt_ns: found "x"; expected a number'),
        ("spec/path/mtu", [], "spec.path.mtu: found []; expected a number"),
        ("spec/path/down/queue/limit/multiple", [1], "expected a number"),
    ],
)
def test_what_is_wrong_is_named_with_its_key_and_what_was_expected(
    tmp_path: Path, key: str, value: object, says: str
) -> None:
    with pytest.raises(StoreError) as refused:
        opened(tmp_path, key, value)
    assert "one/run.json: " in str(refused.value)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    "key", ["why", "workloads", "workloads/web", "spec", "spec/path/down", "spec/workloads", "sysctl"]
)
def test_an_object_or_list_that_is_null_is_as_if_it_had_never_been_written(tmp_path: Path, key: str) -> None:
    found: Any = opened(tmp_path, key, None)
    *parents, last = key.split("/")
    for parent in parents:
        found = found[parent]
    assert last not in found
