//! Two gateways between real sockets on the loopback device.

mod ends;
mod fallback;
mod loopback;
