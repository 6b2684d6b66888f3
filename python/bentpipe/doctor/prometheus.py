"""A diagnosis as metrics, for node_exporter's textfile collector.

The file is replaced in one step, so that the collector never reads half of it.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bentpipe.errors import StoreError
from bentpipe.whole_file import write_whole

_HELP = {
    "transfer_goodput_bits_per_second": "Payload delivered, by the transfer's duration.",
    "transfer_bytes": "Payload delivered while it was watched.",
    "transfer_duration_seconds": "To the last payload, from the first; from its beginning if it ended.",
    "transfer_limit_share": "Share of the transfer's time that this kind of finding limited it.",
    "transfer_limit_certainty": "How sure the finding is, 0 to 1.",
    "path_rtt_seconds": "Base round-trip time of the path as seen.",
    "path_rate_bits_per_second": "Rate of the path as seen; rate_from says by what.",
    "path_queue_bytes": "Longest queue of the path as seen.",
    "path_loss_ratio": "Random loss of the path as seen.",
    "transfers": "Transfers that are told of here.",
    "last_run_timestamp_seconds": "When this file was written.",
}
_NAMESPACE = "bentpipe_doctor"

_Found = dict[str, list[tuple[Mapping[str, str], float]]]
"""Of each metric its labels and values."""


def write_metrics(file: Path, entries: Sequence[Mapping[str, Any]]) -> None:
    """`entries` as `--json` prints them. Raises `StoreError` where the file cannot be written."""
    text = "".join(f"{line}\n" for line in metrics(entries, time.time()))
    try:
        write_whole(file, text.encode(), mode=0o644)  # the collector is another user
    except OSError as error:
        raise StoreError(f"--prometheus {file}: {error.strerror or error}") from None


def metrics(entries: Sequence[Mapping[str, Any]], now_s: float) -> Iterator[str]:
    """In the text format (https://prometheus.io/docs/instrumenting/exposition_formats/)."""
    found: _Found = {name: [] for name in _HELP}
    found["last_run_timestamp_seconds"].append(({}, now_s))
    for entry in entries:
        source = {"source": str(entry["source"]), "of": str(entry[entry["source"]])}
        found["transfers"].append((source, len(entry["transfers"])))
        for transfer in entry["transfers"]:
            _add_transfer(found, source, transfer)
        for labels, path in _paths(entry, source):
            _add_path(found, labels, path)
    for name, values in found.items():
        if values:
            yield f"# HELP {_NAMESPACE}_{name} {_HELP[name]}"
            yield f"# TYPE {_NAMESPACE}_{name} gauge"
            for labels, value in values:
                yield f"{_NAMESPACE}_{name}{_labels(labels)} {value!r}"


def _paths(
    entry: Mapping[str, Any], source: Mapping[str, str]
) -> Iterator[tuple[Mapping[str, str], Mapping[str, Any]]]:
    """The path with its labels; of transfers over several paths that of each."""
    own = [(each, each["path"]) for each in entry["transfers"] if each.get("path")]
    if all(path == entry["path"] for _, path in own):
        yield source, entry.get("path") or {}
        return
    for transfer, path in own:
        yield _labels_of(transfer, source), path


def _add_path(found: _Found, labels: Mapping[str, str], path: Mapping[str, Any]) -> None:
    for name, key, scale in (
        ("path_rtt_seconds", "rtt_s", 1.0),
        ("path_rate_bits_per_second", "rate_mbit_s", 1e6),
        ("path_queue_bytes", "queue_bytes", 1.0),
        ("path_loss_ratio", "loss", 1.0),
    ):
        if path.get(key) is not None:
            by = {"rate_from": str(path.get("rate_from") or "")} if key == "rate_mbit_s" else {}
            found[name].append(({**labels, **by}, path[key] * scale))


def _labels_of(transfer: Mapping[str, Any], source: Mapping[str, str]) -> dict[str, str]:
    return {
        **source,
        "transfer": str(transfer["name"]),
        "direction": str(transfer["direction"] or ""),
        "seen_from": str(transfer["seen_from"]),
    }


def _add_transfer(found: _Found, source: Mapping[str, str], of: Mapping[str, Any]) -> None:
    labels = _labels_of(of, source)
    for name, value in (
        (
            "transfer_goodput_bits_per_second",
            None if of["goodput_mbit_s"] is None else of["goodput_mbit_s"] * 1e6,
        ),
        ("transfer_bytes", of["bytes"]),
        ("transfer_duration_seconds", of["duration_s"]),
    ):
        if value is not None:
            found[name].append((labels, value))
    for place, finding in enumerate(of["findings"], 1):
        kind = {**labels, "kind": finding["kind"], "place": str(place)}
        found["transfer_limit_share"].append((kind, finding["share"]))
        found["transfer_limit_certainty"].append((kind, finding["certainty"]))


def _labels(labels: Mapping[str, str]) -> str:
    def escaped(value: str) -> str:
        return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    inner = ",".join(f'{name}="{escaped(value)}"' for name, value in labels.items())
    return f"{{{inner}}}" if inner else ""
