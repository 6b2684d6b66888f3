"""Calls: the quality of each, by its worse direction."""

from bentpipe.analysis.kinds.measure import Kind, Measure, Record, entry, workloads_of


def _of(
    direction: str, key: str, words: str, unit: str = "", scale: float = 1.0, *, digits: int = 3
) -> Measure:
    def values(record: Record, workload: str) -> list[float]:
        value = (record["workloads"].get(workload, {}).get(direction) or {}).get(key)
        return [] if value is None else [scale * value]

    return Measure(
        f"{words} {direction}",
        f"{words}\n{direction} {unit}".rstrip(),
        "",
        values,
        more_is_better=key == "mos",
        digits=digits,
        key=f"{direction}.{key}",
    )


CALL = Kind(
    "call",
    "Calls",
    (
        Measure("MOS", "MOS", "", entry("mos"), key="mos"),
        *(_of(way, "mos", "MOS") for way in ("down", "up")),
        *(_of(way, "delay_ms", "delay", "ms", digits=4) for way in ("down", "up")),
        *(_of(way, "jitter_ms", "jitter", "ms") for way in ("down", "up")),
        *(_of(way, "loss", "loss", "%", 100.0) for way in ("down", "up")),
        *(_of(way, "late_loss", "late", "%", 100.0) for way in ("down", "up")),
    ),
    workloads_of("call"),
    counted="MOS is the mean opinion score by the E-model (ITU-T G.107), 1 to 4.5, of the worse direction. "
    "Loss is what never came, late what came after its playout.",
)
