"""Linux 6.18's defaults, which `sim` gives a host whose settings a lab leaves open."""

DEFAULT_RMEM = (4096, 131072, 33554432)
"""tcp_rmem: least, first and largest receive buffer in bytes."""
DEFAULT_WMEM = (4096, 16384, 4194304)
"""tcp_wmem, the same of the send buffer."""
