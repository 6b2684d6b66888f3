//! The carriers in virtual time: no sockets, no clock.

mod hostile;
mod identity;
mod net;
mod quic_handshake;
mod quic_limits;
mod quic_messages;
mod quic_outages;
mod tls;
