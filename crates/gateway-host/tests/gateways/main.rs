//! Two gateways between real sockets on the loopback device.

mod datagrams;
mod ends;
mod fallback;
mod loopback;
mod packets;
