"""The labs that the tables of `sim` and of `live` share."""

RATE_BIT_S = 16e6
PAYLOAD_SHARE = (1500 - 28 - 31 - 1 - 10) / 1500
"""Of 1500 bytes: without IP and UDP, the carrier, the plane's number, and room for a repair's header."""
GEO = """
title = "gateways"
duration = "{seconds} s"
[path]
rtt = "550 ms"
rate = "16 Mbit/s"
queue = "200 kB"
loss = {loss}
"""
DOWNLOAD = '[[workload]]\nname = "download"\nkind = "bulk"\nstart = "{start}"\nomit = "4 s"\n'
KEYS = '[[workload]]\nname = "keys"\nkind = "interactive"\nstart = "5 s"\ncount = 200\ninterval = "200 ms"\n'
OBJECTS, OBJECT_BYTES = 60, 20_000
PAGE = f"""[[workload]]
name = "page"
kind = "http"
start = "2 s"
objects = [{", ".join([f'"{OBJECT_BYTES} B"'] * OBJECTS)}]
connections = {{connections}}
"""


def ceiling_mbit_s(loss: float) -> float:
    """What the packets' payload can be at the link's rate and this loss."""
    return RATE_BIT_S * (1 - loss) * PAYLOAD_SHARE / 1e6


def page_bytes_s() -> float:
    """Seconds that the bytes of the page take by themselves."""
    return OBJECTS * OBJECT_BYTES * 8 / (RATE_BIT_S * PAYLOAD_SHARE)
