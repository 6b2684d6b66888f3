"""`bentpipe explain` on the command line."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from bentpipe.cli.declared import Argument, Option
from bentpipe.cli.newest import newest_folder
from bentpipe.cli.saying import say, tell
from bentpipe.errors import StoreError
from bentpipe.words.printable import printable_json

_MOST = 5


def explain(
    folder: Annotated[
        str | None,
        Argument(
            metavar="[RUN]",
            help="A run's folder, or a folder of runs, or its URL. Default: the newest folder in runs/.",
        ),
    ] = None,
    *,
    point: Annotated[
        list[str] | None,
        Option(
            metavar="KEY=VALUE", help="Only runs at this point of the sweep: path.rtt='550 ms'; repeatable."
        ),
    ] = None,
    variant: Annotated[
        list[str] | None, Option(metavar="NAME", help="Only this variant; repeatable.")
    ] = None,
    most: Annotated[
        int | None,
        Option(min=1, metavar="N", help=f"Explain at most N runs. Default {_MOST}; all with --json."),
    ] = None,
    json_: Annotated[bool, Option("--json", help="One JSON object per run, each on a line.")] = False,
) -> None:
    """Say what limited each transfer of a run, and for which share of the time.

    It uses only the run's record and tables: windows, cwnd, queue and drops, sampled every 100 ms.

    Examples:

        bentpipe explain

        bentpipe explain runs/island-2026-01-31/001_as-is_seed-1

        bentpipe explain runs/island-2026-01-31 --point path.rtt="550 ms" --variant "as is"
    """
    from bentpipe.analysis import limits
    from bentpipe.report import explained
    from bentpipe.runs.store import Results

    results = Results.open(folder or newest_folder("explain"))
    records = _chosen(results.records, point or [], variant or [])
    shown = records[: most or (len(records) if json_ else _MOST)]
    for number, record in enumerate(shown):
        found = limits.explain(results, record)
        if json_:
            print(printable_json(explained.as_json(found)), flush=True)
            continue
        if number:
            tell("")
        for line in explained.lines(found):
            tell(line)
    if len(shown) < len(records):
        say(
            f"These are the first {len(shown)} of {len(records)} runs. "
            "Choose with --point, --variant or --most N."
        )


def _chosen(
    records: Sequence[Mapping[str, Any]], points: Sequence[str], variants: Sequence[str]
) -> list[Mapping[str, Any]]:
    """The records at these points and of these variants. Raises StoreError if there are none."""
    wanted = [_key_and_value(each, records) for each in points]
    found = [
        record
        for record in records
        if all(key in _point(record) and _same(key, _point(record)[key], text) for key, text in wanted)
        and (not variants or _variant(record) in variants)
    ]
    if not found:
        there = ", ".join(dict.fromkeys(_variant(record) for record in records))
        values = "; ".join(f"{key} = {', '.join(_values(records, key))}" for key in _keys(records))
        points_there = f"; points: {values}" if values else ""
        asked = [*(f"--point {each}" for each in points), *(f"--variant {each}" for each in variants)]
        raise StoreError(f"{' '.join(asked)}: no such run; variants here: {there}{points_there}")
    return found


def _point(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Empty if the record, which may come from another program, does not say."""
    found: Mapping[str, Any] = record.get("point") or {}
    return found


def _variant(record: Mapping[str, Any]) -> str:
    return str(record.get("variant", "as is"))


def _key_and_value(option: str, records: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    key, equals, text = option.partition("=")
    if not equals or key not in _keys(records):
        known = ", ".join(_keys(records)) or "none, since nothing is swept"
        raise StoreError(f'--point: found "{option}"; expected KEY=VALUE with one of the swept keys: {known}')
    return key, text


def _keys(records: Sequence[Mapping[str, Any]]) -> list[str]:
    return [*dict.fromkeys(key for record in records for key in _point(record))]


def _values(records: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    from bentpipe.words.written import written

    return [*dict.fromkeys(written(_point(record)[key]) for record in records if key in _point(record))]


def _same(key: str, value: Any, text: str) -> bool:
    from bentpipe.lab.grid.meaning import meaning
    from bentpipe.words.written import written

    return written(value) == text or meaning(key, value) == meaning(key, text)
