"""Several paths in what one end saw: each transfer has its own, and what is said of it is of that path."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_findings import BULK, diagnosed

from bentpipe.doctor.cures import cures
from bentpipe.doctor.diagnosis import Diagnosis
from bentpipe.doctor.episodes import episodes
from bentpipe.doctor.jitter import jitter
from bentpipe.doctor.loss_bursts import UNKNOWN, loss_bursts
from bentpipe.doctor.path_seen import path_seen, paths_seen
from bentpipe.doctor.prometheus import metrics
from bentpipe.doctor.simulating import Outcome
from bentpipe.doctor.words import as_json, lines, path_rows, path_words
from bentpipe.tune.path import from_report
from bentpipe.words.digits import digits
from bentpipe.words.wording import duration, size

FAR: Mapping[str, Any] = {
    "path": {"rtt": "300 ms", "rate": "20 Mbit/s", "queue": "1 bdp"},
    "duration": "20 s",
}
NEAR: Mapping[str, Any] = {
    "path": {"rtt": "30 ms", "rate": "80 Mbit/s"},
    "client": {"tcp_rmem": [4096, 65536, 65536]},
    "duration": "5 s",
}


def to(lab: Mapping[str, Any], server: str) -> Diagnosis:
    found = diagnosed(lab)
    evidence = replace(found.evidence, name=f"from {server}", ends=frozenset({server}))
    return replace(found, evidence=evidence)


@pytest.fixture(scope="module")
def two() -> list[Diagnosis]:
    return [to(FAR, "192.0.2.1"), to(NEAR, "192.0.2.2")]


def test_each_server_has_its_own_path(two: list[Diagnosis]) -> None:
    far, near = paths_seen(two)
    assert far.rtt_s == pytest.approx(0.3, rel=0.02)
    assert near.rtt_s == pytest.approx(0.03, rel=0.02)
    assert paths_seen(two[:1])[0] == path_seen(two[:1])


def test_transfers_of_one_server_or_of_one_queue_share_a_path(two: list[Diagnosis]) -> None:
    far, near = two
    again = replace(near, evidence=replace(near.evidence, ends=far.evidence.ends))
    assert len({id(path) for path in paths_seen([far, again])}) == 1
    beside = [replace(far, neighbours=1), replace(to(FAR, "192.0.2.3"), neighbours=1)]
    assert len({id(path) for path in paths_seen(beside)}) == 1
    assert len({id(path) for path in paths_seen([replace(each, neighbours=1) for each in two])}) == 2


def test_each_direction_has_its_own_path(two: list[Diagnosis]) -> None:
    near = two[0]
    back = replace(near, evidence=replace(near.evidence, direction="up"))
    one, other = paths_seen([near, back])
    assert one is not other


def test_words_json_metrics_and_a_plan_have_the_path_of_each_transfer(
    two: list[Diagnosis], tmp_path: Path
) -> None:
    paths = paths_seen(two)
    said = "\n".join(lines(two, paths, [[], []], [None, None])).replace("\N{NO-BREAK SPACE}", " ")
    assert "Path as seen (from 192.0.2.1): base RTT 300 ms" in said
    assert "Path as seen (from 192.0.2.2): base RTT 30" in said
    entry = {"watch": "all", **as_json("watch", two, paths, [[], []], [None, None])}
    assert entry["path"] == entry["transfers"][0]["path"] != entry["transfers"][1]["path"]
    rtts = [line for line in metrics([entry], 0.0) if line.startswith("bentpipe_doctor_path_rtt")]
    assert [f'transfer="from 192.0.2.{number}"' in line for number, line in enumerate(rtts, 1)] == [True] * 2
    report = tmp_path / "report.json"
    report.write_text(json.dumps(entry))
    planned = from_report(report, "from 192.0.2.2", None)
    assert planned.rtt_s == pytest.approx(paths[1].rtt_s, rel=1e-4)


def test_the_cure_of_a_transfer_is_simulated_on_its_own_path(two: list[Diagnosis]) -> None:
    paths = paths_seen(two)
    (cure, *_) = cures(two[1], paths[1])
    goodput_bit_s = two[1].evidence.goodput_bit_s
    assert goodput_bit_s and cure.seen_simulated_bit_s == pytest.approx(goodput_bit_s, rel=0.1)


def test_a_change_that_gives_no_more_is_not_offered_and_no_interval_is_below_zero(
    two: list[Diagnosis], monkeypatch: pytest.MonkeyPatch
) -> None:
    near, (_, path) = two[1], paths_seen(two)
    seen_bit_s = near.evidence.goodput_bit_s
    assert seen_bit_s

    def varying(times: float) -> Any:
        return lambda _lab, change, _seeds: [
            Outcome(seen_bit_s * (times * many if change else 1.0), None, 0.0)
            for many in (0.1, 0.1, 0.1, 0.1, 6.0)
        ]

    monkeypatch.setattr("bentpipe.doctor.cures.outcomes", varying(1.0))
    assert [cure.low_bit_s for cure in cures(near, path)] == [0.0]
    monkeypatch.setattr("bentpipe.doctor.cures.outcomes", varying(0.5))
    assert cures(near, path) == []


def test_what_the_path_carried_at_least_is_not_above_its_rate(two: list[Diagnosis]) -> None:
    path = paths_seen(two)[0]
    assert path.rate_from == "queue" and path.rate_bit_s
    found = replace(path, least_rate_bit_s=1.2 * path.rate_bit_s).as_json()
    assert found["least_rate_mbit_s"] == found["rate_mbit_s"]


def test_a_short_queue_that_was_found_is_the_paths_queue() -> None:
    found = diagnosed({"path": {"rtt": "100 ms", "rate": "50 Mbit/s", "queue": "30 kB"}})
    assert found.findings[0].kind == "short-queue"
    (path,) = paths_seen([found])
    assert path.queue_bytes is not None
    assert path.queue_bytes >= found.findings[0].evidence["queue_bytes"]


def test_each_finding_has_its_certainty_and_the_order_is_explained_where_it_needs_it() -> None:
    found = diagnosed({"path": {"rtt": "20 ms", "rate": "20 Mbit/s", "queue": "5 bdp"}, "workload": [BULK]})
    said = list(lines([found], paths_seen([found]), [[]], [None]))
    assert [line.count("(certainty ") for line in said[1:4]] == [1, 0, 1]
    assert "It would not be so with" in said[2]
    assert any("Shares are of the time" in line and "bufferbloat" in line for line in said)
    plain = replace(found, findings=found.findings[:1])
    assert not any("Shares" in line for line in lines([plain], paths_seen([plain]), [[]], [None]))


def bursts(segments: float, share: float = 0.003) -> Mapping[str, Any]:
    """A path on which a burst begins at that share of the segments."""
    loss = {"model": "gilbert-elliott", "p": share, "r": 1 / segments}
    return {"path": {"rtt": "60 ms", "rate": "30 Mbit/s", "down": {"loss": loss}}, "duration": "30 s"}


@pytest.mark.parametrize("segments", [3.0, 6.0])
def test_a_sender_knows_how_many_segments_go_at_once(segments: float) -> None:
    (path,) = paths_seen([diagnosed(bursts(segments))])
    low, high = path.loss_burst_interval
    assert low is not None and high is not None and path.loss_burst_segments is not None
    assert 1 <= low <= path.loss_burst_segments <= high
    assert low <= segments <= high
    assert path.loses_in_bursts
    assert path.loss_burst_chance == pytest.approx(0.003, rel=0.35)


@pytest.mark.parametrize("loss", [0.004, 0.02])
def test_single_losses_are_no_bursts_though_an_episode_holds_several(loss: float) -> None:
    found = diagnosed({"path": {"rtt": "100 ms", "rate": "20 Mbit/s", "loss": loss}, "duration": "30 s"})
    of_episode = episodes(found.view).lost_segments.mean()
    (path,) = paths_seen([found])
    assert path.loss_burst_segments is not None
    assert path.loss_burst_segments < of_episode
    assert path.loss_burst_segments == pytest.approx(1, abs=0.25)
    assert not path.loses_in_bursts


def test_bursts_are_unknown_to_a_receiver_of_several_connections_and_of_few_losses() -> None:
    lab = bursts(6.0)
    streams = {**lab, "workload": [{**BULK, "streams": 4}]}
    for each in (diagnosed(lab, "receiver"), diagnosed(streams), diagnosed(FAR)):
        (path,) = paths_seen([each])
        assert path.loss_burst_segments is path.loss_burst_chance is None
        assert path.loss_burst_interval == (None, None)
        assert path.as_json()["loss_burst_interval"] == [None, None]
    found = diagnosed(lab)
    assert loss_bursts(found).segments is not None
    begun = episodes(found.view).places
    assert loss_bursts(replace(found, view=found.view.of(np.arange(found.view.size) < begun[2]))) == UNKNOWN


def test_bursts_are_unknown_where_episodes_take_half_of_the_time() -> None:
    lab = {"path": {"rtt": "300 ms", "rate": "20 Mbit/s", "loss": 0.02}, "duration": "30 s"}
    found = diagnosed({**lab, "host": {"congestion_control": "bbr"}})
    assert found.view.most("retransmits") > 100
    assert loss_bursts(found) == UNKNOWN


def test_bursts_are_said_where_they_are_clear_and_are_in_json() -> None:
    (path,) = paths_seen([diagnosed(bursts(6.0))])
    assert path.loss_burst_segments is not None
    said = f"of {digits(path.loss_burst_segments, 2)} segments each"
    assert "loss events 0." in path_words(path) and said in path_words(path)
    assert "segments each" not in path_words(replace(path, loss_burst_interval=(1.0, 9.0)))
    found = path.as_json()
    assert found["loss_burst_segments"] == pytest.approx(path.loss_burst_segments, abs=1e-3)
    assert found["loss_burst_interval"] == pytest.approx(list(path.loss_burst_interval))


def jittery(spread: str, lasts: str, seed: int = 1) -> Diagnosis:
    path = {"rtt": "50 ms", "rate": "50 Mbit/s", "down": {"jitter": {"spread": spread}}}
    return diagnosed({**NEAR, "path": path, "duration": lasts, "seed": seed})


def test_the_interval_of_jitter_holds_what_a_long_transfer_has() -> None:
    usual, (least, most) = jitter(jittery("2 ms", "60 s").view)
    intervals = [jitter(jittery("2 ms", "8 s", seed).view)[1] for seed in range(2, 12)]
    assert usual is not None and least is not None and most is not None
    held = [low is not None and high is not None and low <= usual <= high for low, high in intervals]
    assert sum(held) >= 9
    widths = [high - low for low, high in intervals if low and high]
    assert most - least < np.median(widths)


def test_the_interval_of_jitter_takes_some_round_trips() -> None:
    view = jittery("2 ms", "8 s").view
    few = jitter(view.of(np.arange(view.size) < 12))
    assert few[0] is not None and few[1] == (None, None)
    assert jitter(view.of(np.arange(view.size) < 4)) == (None, (None, None))


def test_jitter_is_said_where_it_is_surely_a_hundredth_of_the_round_trip() -> None:
    (path,) = paths_seen([jittery("4 ms", "20 s")])
    assert path.jitter_s is not None and path.rtt_s is not None
    assert f", jitter {duration(path.jitter_s)}" in path_words(path)
    slight = (0.009 * path.rtt_s, 0.02 * path.rtt_s)
    assert "jitter" not in path_words(replace(path, jitter_interval_s=slight))
    assert path.as_json()["jitter_interval_s"] == pytest.approx(list(path.jitter_interval_s))


def test_a_table_has_the_figures_of_the_path_and_their_intervals() -> None:
    (path,) = paths_seen([diagnosed(FAR)])
    known = replace(
        path,
        rtt_interval_s=(0.29, 0.31),
        queue_interval_bytes=(1e5, None),
        loss=None,
        loss_interval=(None, None),
    )
    rows = {name: (value, interval) for name, value, interval in path_rows(known)}
    assert rows["base RTT"] == (duration(path.rtt_s or 0.0), f"{duration(0.29)} to {duration(0.31)}")
    assert rows["longest queue"][1] == f"{size(1e5)} or more"
    assert rows["loss events per segment"] == ("unknown", "")
    assert list(rows)[-2:] == ["segments lost in each", "jitter"]
