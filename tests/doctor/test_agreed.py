"""Options that the ends of a transfer did not agree on, and that did not limit it: a sentence for each."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_findings import PATH, diagnosed

import bentpipe
from bentpipe.doctor.agreed import not_agreed
from bentpipe.doctor.diagnosis import Diagnosis, diagnose
from bentpipe.doctor.evidence import Offered, SeenFrom
from bentpipe.doctor.from_capture import read
from bentpipe.engines.base import EngineOptions
from bentpipe.sweep.run import execute

REMOVED = ", or a device on the way removed "


@pytest.fixture(scope="module")
def plain() -> Diagnosis:
    return diagnosed({"duration": "5 s"})


def said(of: Diagnosis, *, sender: Mapping[str, Any], receiver: Mapping[str, Any], **more: Any) -> list[str]:
    evidence = replace(
        of.evidence, sender_offered=Offered(**sender), receiver_offered=Offered(**receiver), **more
    )
    return [each.removeprefix("download: ") for each in not_agreed(diagnose(evidence))]


ON: Mapping[str, Any] = {"sack": True, "timestamps": True, "window_scale": 7}
OFF: Mapping[str, Any] = {"sack": False, "timestamps": False, "window_scale": -1}


def test_it_is_said_who_did_not_offer_an_option(plain: Diagnosis) -> None:
    def stamps(sender: bool | None, receiver: bool | None, **more: Any) -> list[str]:
        return said(plain, sender={"timestamps": sender}, receiver={"timestamps": receiver}, **more)

    begin = "time stamps were not agreed: "
    assert plain.evidence.seen_from == "sender"
    assert stamps(False, True) == [f"{begin}the sender did not offer them."]
    assert stamps(True, False) == [f"{begin}the receiver did not offer them{REMOVED}them."]
    assert stamps(None, False) == [f"{begin}the receiver did not offer them{REMOVED}them."]
    # The end that answers offers only what the opening one did.
    assert stamps(False, False, direction="up") == [f"{begin}the sender did not offer them."]
    assert stamps(False, False, direction="down") == [f"{begin}the receiver did not offer them{REMOVED}them."]
    assert stamps(False, False, direction=None) == [f"{begin}neither end offered them{REMOVED}them."]


def test_nothing_is_said_of_what_was_agreed_or_is_not_known(plain: Diagnosis) -> None:
    assert said(plain, sender=ON, receiver=ON) == []
    assert said(plain, sender={}, receiver={}) == []


def test_each_option_has_its_sentence() -> None:
    """On a path that holds less than 64 kB, and loses nothing."""
    small = diagnosed({"path": {"rtt": "20 ms", "rate": "5 Mbit/s"}, "duration": "5 s"}, "receiver")
    assert said(small, sender=ON, receiver=OFF) == [
        "time stamps were not agreed: the receiver did not offer them.",
        "SACK was not agreed: the receiver did not offer it.",
        "window scaling was not agreed: the receiver did not offer it.",
    ]


@pytest.mark.parametrize(
    "lab",
    [
        {"path": {**PATH, "queue": "1 bdp"}, "client": {"sack": False}, "duration": "20 s"},
        {"path": {**PATH, "rate": "100 Mbit/s"}, "client": {"window_scaling": False}, "duration": "5 s"},
    ],
)
def test_an_option_whose_lack_limits_is_a_finding_instead(lab: Mapping[str, Any]) -> None:
    limited = diagnosed(lab)
    assert "tcp-options" in {each.kind for each in limited.findings}
    assert list(not_agreed(limited)) == []
    # The other options are still told of.
    limited = replace(limited, evidence=replace(limited.evidence, sender_offered=Offered(timestamps=False)))
    assert list(not_agreed(limited)) == [
        "download: time stamps were not agreed: the sender did not offer them."
    ]


@pytest.mark.parametrize(("end", "removed"), [("client", ""), ("server", f"{REMOVED}them")])
def test_a_run_and_a_capture_say_the_same(end: str, removed: str, tmp_path: Path) -> None:
    lab = {"path": PATH, "client": {"timestamps": False}, "duration": "5 s"}
    seen_from: SeenFrom = "receiver" if end == "client" else "sender"
    end_of_it = f"time stamps were not agreed: the receiver did not offer them{removed}."
    assert list(not_agreed(diagnosed(lab, seen_from))) == [f"download: {end_of_it}"]
    whole = bentpipe.Lab(**lab, workload=[{"name": "download", "kind": "bulk", "direction": "down"}])
    execute(whole, engine="sim", out=tmp_path / "out", options=EngineOptions(pcap=(end,)))
    (file,) = (tmp_path / "out").glob(f"[!.]*/{end}.pcapng")
    (transfer,) = read(file).transfers
    assert list(not_agreed(diagnose(transfer))) == [f"{transfer.name}: {end_of_it}"]
