"""What the kernels counted for the connections of a workload `http`.

1. The sender's retransmissions are known per connection, not per request. Where several were made on one,
   each has none of its own; the workload's sum is right all the same.
2. Of a fetch that was cut, the client knows nothing, and the server only what it gave its kernel. What
   arrived is the receiver's count less everything else that its connection carried: headers and earlier
   answers.
"""

from collections.abc import Sequence
from dataclasses import replace

from bentpipe.engines.closings import Closed, Closings, Connection
from bentpipe.engines.workloads.transfer import Transfer


async def counted(
    transfers: Sequence[Transfer], closings: Closings, *, upload: bool, patience_s: float
) -> tuple[list[Transfer], int | None]:
    """The transfers with what is known of their connections, and the retransmissions of all; None where those
    of one are not known."""
    connections = [_connection(each) for each in transfers]
    await closings.wait([each for each in connections if each], patience_s)
    ends = [_ends(each, closings, upload=upload) for each in connections]
    users: dict[Closed, list[int]] = {}
    for number, (sender, _) in enumerate(ends):
        if sender:
            users.setdefault(sender, []).append(number)
    found = []
    for number, (each, (sender, receiver)) in enumerate(zip(transfers, ends, strict=True)):
        alone = sender is not None and len(users[sender]) == 1
        carried = each.bytes
        if each.outcome != "finished" and receiver and receiver.bytes_received is not None and not upload:
            others = [transfers[n] for n in users.get(sender, []) if n != number] if sender else []
            rest = sum(other.bytes + other.header_bytes for other in others) + each.header_bytes
            carried = min(max(receiver.bytes_received - rest, 0), each.size_bytes or each.item.size_bytes)
        retransmits = sender.retransmits if sender and alone else None
        found.append(replace(each, bytes=carried, retransmits=retransmits))
    known = [sender.retransmits for sender in users if sender.retransmits is not None]
    everything = len(known) == len(users) and all(sender for sender, _ in ends)
    return found, sum(known) if everything else None


def _connection(of: Transfer) -> Connection | None:
    if of.local_port is None:
        return None
    return Connection("client", of.local_port, of.server, of.remote_port, of.start_s)


def _ends(of: Connection | None, closings: Closings, *, upload: bool) -> tuple[Closed | None, Closed | None]:
    """The sender's end and the receiver's."""
    if of is None:
        return None, None
    client, server = closings.client_end(of), closings.server_end(of)
    return (client, server) if upload else (server, client)
