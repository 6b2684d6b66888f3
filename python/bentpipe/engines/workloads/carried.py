"""What the kernels counted for the connections of a workload `http`.

1. The sender's retransmissions are known per connection, not per request. Where several were made on one,
   each has none of its own; the workload's sum is right all the same. So it is with those on the way to a
   cache.
2. Of a fetch that was cut, the client knows nothing, and the server only what it gave its kernel. What
   arrived is the receiver's count less everything else that its connection carried: headers and earlier
   answers.
3. Nor is its port known where the server's log has no line of it; then it is of the connections that nobody
   else names. Of several such fetches which had which is not known, only what came in all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bentpipe.engines.closings import Closed, Closings, Connection
from bentpipe.engines.workloads.transfer import Transfer


@dataclass(frozen=True)
class Counted:
    transfers: list[Transfer]
    retransmits: int | None
    """Of all connections; None: that of one is not known."""


async def counted(
    transfers: Sequence[Transfer],
    closings: Closings,
    *,
    upload: bool,
    upstream: Sequence[Connection],
    patience_s: float,
) -> Counted:
    """Adds what is known of the connections; `upstream` are those of a cache with the server."""
    named = [each for each in map(_connection, transfers) if each]
    await closings.wait([*named, *upstream], patience_s)
    transfers = list(_ported(transfers, closings))
    ends = [_ends(each, closings, upload=upload) for each in map(_connection, transfers)]
    users: dict[Closed, list[Transfer]] = {}
    for each, (sender, _) in zip(transfers, ends, strict=True):
        if sender:
            users.setdefault(sender, []).append(each)

    def complete(each: Transfer, sender: Closed | None, receiver: Closed | None) -> Transfer:
        together = users[sender] if sender else [each]
        missed = each.cache == "miss" and bool(upstream)
        retransmits = sender.retransmits if sender and len(together) == 1 and not missed else None
        if each.outcome == "finished" or upload or receiver is None or receiver.bytes_received is None:
            return replace(each, retransmits=retransmits)
        rest = sum(other.header_bytes + (other.bytes if other != each else 0) for other in together)
        carried = min(max(receiver.bytes_received - rest, 0), each.size_bytes or each.item.size_bytes)
        return replace(each, retransmits=retransmits, bytes=carried)

    found = [complete(each, *its) for each, its in zip(transfers, ends, strict=True)]
    senders = [
        *(sender for sender, _ in ends),
        *(closings.sender_end(each, upload=False) for each in upstream),
    ]
    known = {end: end.retransmits for end in senders if end}
    counts = [count for count in known.values() if count is not None]
    whole = all(senders) and len(counts) == len(known)
    return Counted(found, sum(counts) if whole else None)


def _ported(transfers: Sequence[Transfer], closings: Closings) -> Iterator[Transfer]:
    """With a port for those that have none, as far as the kernel tells."""
    used = {each.local_port for each in transfers}
    for each in transfers:
        if each.local_port is not None:
            yield each
            continue
        over = closings.opened_by("client", each.remote_port, each.start_s)
        free = [end.local_port for end in over if end.local_port not in used]
        # Else it was a request on a connection that others had before it.
        port = next(iter(free or [end.local_port for end in over]), None)
        used.add(port)
        yield replace(each, local_port=port)


def _connection(of: Transfer) -> Connection | None:
    if of.local_port is None:
        return None
    return Connection("client", of.local_port, of.server, of.remote_port, of.start_s)


def _ends(of: Connection | None, closings: Closings, *, upload: bool) -> tuple[Closed | None, Closed | None]:
    """The sender's end and the receiver's."""
    if of is None:
        return None, None
    receiver = closings.server_end(of) if upload else closings.client_end(of)
    return closings.sender_end(of, upload=upload), receiver
