//! The carriers in virtual time: no sockets, no clock.

mod net;
mod quic_handshake;
mod quic_messages;
mod quic_outages;
