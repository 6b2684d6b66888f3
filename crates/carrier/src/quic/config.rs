//! The settings of a QUIC endpoint, and what they become in noq-proto 1.4.0. Its defaults are for 100 Mbit/s and 100 ms; ours are for
//! 10 Gbit/s and 600 ms, and for outages of minutes.

use super::unlimited::Unlimited;
use noq_proto::{AckFrequencyConfig, IdleTimeout, MtuDiscoveryConfig, TransportConfig, VarInt};
use std::sync::Arc;
use std::time::Duration;

/// The number of ACK-eliciting packets that one acknowledgement may cover. At low rates `ACK_DELAY` comes first.
const ACK_EVERY_PACKETS: u32 = 256;
/// The longest time an acknowledgement is held back: at most 40 acknowledgements a second at low rates.
const ACK_DELAY: Duration = Duration::from_millis(25);
/// What the receiver of control messages grants in advance: 512 KiB in each round trip. See `WRITE_EVERY` in `control.rs` for why not more.
const CONTROL_WINDOW: u32 = 512 * 1024;
/// Until the first sample. RFC 9002, section 6.2.2; a first probe then leaves after 1 s, which is more than a geostationary round trip.
const INITIAL_RTT: Duration = Duration::from_millis(333);

/// How an end of a QUIC carrier behaves. `Config::default()` is right for a gateway.
#[derive(Clone, Debug)]
pub struct Config {
    /// A connection ends when nothing arrived for this long. The lesser of both ends' values counts.
    pub idle_timeout: Duration,
    /// The near end sends something when nothing arrived for this long: it keeps the mappings of NATs between, and notices outages.
    pub keep_alive: Duration,
    /// A handshake that is not finished by then is given up.
    pub handshake_timeout: Duration,
    /// The UDP payload that the path certainly takes, in bytes, at least 1200. Packets of this size are sent from the beginning, and the
    /// size never falls below it. Set it where the path's MTU is known: 1452 fits IPv6 in Ethernet, 1472 IPv4.
    pub certain_udp_payload: u16,
    /// The largest UDP payload that is tried on the path, in bytes. By default there is no search.
    ///
    /// Beyond `certain_udp_payload` noq-proto takes four or more separate losses of longer packets between two acknowledgements for a path
    /// that takes less than before. On a path that loses 5 % that happens by chance within 30 s at most rates from 16 Mbit/s on: the size then
    /// falls back for a minute. So a search is only for a session that stands it that `max_datagram` falls at any time.
    pub largest_udp_payload: u16,
    /// The most datagrams of one `Transmit`, for segmentation by the kernel (GSO). 1 where there is none.
    pub most_segments: usize,
    /// Bytes of datagrams that wait to be sent. Small, because control messages wait behind them.
    pub datagram_send_bytes: usize,
    /// Bytes of datagrams that wait for `poll_event`. What arrives beyond it is dropped and counted.
    pub datagram_receive_bytes: usize,
    /// Bytes of control messages that wait to be sent, and of those that wait for `poll_event`.
    pub control_bytes: usize,
    /// The most bytes that may be neither acknowledged nor lost. Twice what is under way at 10 Gbit/s and 600 ms. It bounds memory in an
    /// outage: about a tenth of it.
    pub most_in_flight_bytes: u64,
    /// The far end: so many unfinished handshakes, and no more.
    pub most_handshakes: usize,
    /// The far end: from so many unfinished handshakes on, a newcomer first has to prove its address (Retry), which costs it a round trip.
    pub retry_from_handshakes: usize,
    /// The far end: the most connections with the same key. A newer one ends the oldest.
    pub most_per_key: usize,
    /// For tests: connection IDs, packet numbers and secrets come from this seed instead of the operating system. Never for real traffic.
    pub seed: Option<u64>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            idle_timeout: Duration::from_mins(15),
            keep_alive: Duration::from_secs(5),
            handshake_timeout: Duration::from_secs(30),
            certain_udp_payload: 1200,
            largest_udp_payload: 1200,
            most_segments: 10,
            datagram_send_bytes: 64 * 1024,
            datagram_receive_bytes: 8 * 1024 * 1024,
            control_bytes: 512 * 1024,
            most_in_flight_bytes: 1_500_000_000,
            most_handshakes: 256,
            retry_from_handshakes: 16,
            most_per_key: 4,
            seed: None,
        }
    }
}

/// What a packet has beyond a datagram at most: the short header (1, the connection ID 8, the packet number 4), the DATAGRAM frame's header as
/// noq-proto reckons it (9), and the tag (16).
const PACKET_BYTES: usize = 1 + 8 + 4 + 9 + 16;

impl Config {
    /// The longest datagram that is certain on every connection, in bytes. A session that keeps to it can move to another connection, and to
    /// TLS with this `max_datagram`.
    pub fn certain_datagram(&self) -> usize {
        usize::from(self.certain_udp_payload) - PACKET_BYTES
    }

    pub(super) fn most_udp_payload(&self) -> u16 {
        self.largest_udp_payload.max(self.certain_udp_payload)
    }

    /// What noq's own queue of datagrams may hold: one `Transmit`.
    pub(super) fn handed_over_bytes(&self) -> usize {
        self.most_segments.max(1)
            * (usize::from(self.most_udp_payload()) + size_of::<noq_proto::Datagram>())
    }

    /// What may wait to be sent: as many whole `Transmit`s as `datagram_send_bytes` has room for. A part of one would cost a system call as
    /// well.
    pub(super) fn waiting_bytes(&self) -> usize {
        let longest = usize::from(self.most_udp_payload()) - PACKET_BYTES;
        let whole = self.most_segments.max(1) * longest;
        match self.datagram_send_bytes / whole {
            0 => self.datagram_send_bytes,
            transmits => transmits * whole,
        }
    }

    pub(super) fn transport(&self, streams_of_peer: u32) -> TransportConfig {
        let mut acks = AckFrequencyConfig::default();
        acks.ack_eliciting_threshold(VarInt::from_u32(ACK_EVERY_PACKETS - 1))
            .max_ack_delay(Some(ACK_DELAY))
            // Reordering is ordinary: it is no reason for an acknowledgement.
            .reordering_threshold(VarInt::from_u32(0));
        let search = (self.largest_udp_payload > self.certain_udp_payload).then(|| {
            let mut search = MtuDiscoveryConfig::default();
            search.upper_bound(self.largest_udp_payload);
            search
        });

        let mut transport = TransportConfig::default();
        transport
            .max_idle_timeout(Some(
                IdleTimeout::try_from(self.idle_timeout).unwrap_or(VarInt::MAX.into()),
            ))
            // Liveness does it, and faster.
            .keep_alive_interval(None)
            .initial_rtt(INITIAL_RTT)
            .initial_mtu(self.certain_udp_payload)
            .min_mtu(self.certain_udp_payload)
            // Only time tells that a packet is lost. A handover to a shorter path reorders thousands of packets.
            .packet_threshold(u32::MAX)
            .ack_frequency_config(Some(acks))
            .mtu_discovery_config(search)
            .congestion_controller_factory(Arc::new(Unlimited {
                most_bytes: self.most_in_flight_bytes,
            }))
            .datagram_send_buffer_size(self.handed_over_bytes())
            // noq's queue is emptied into ours after each packet, so it holds what one packet brought.
            .datagram_receive_buffer_size(Some(
                self.datagram_receive_bytes.max(2 * usize::from(u16::MAX)),
            ))
            .max_concurrent_bidi_streams(VarInt::from_u32(streams_of_peer))
            .max_concurrent_uni_streams(VarInt::from_u32(0))
            .stream_receive_window(VarInt::from_u32(CONTROL_WINDOW))
            .receive_window(VarInt::from_u32(CONTROL_WINDOW))
            .send_window(CONTROL_WINDOW.into())
            .enable_segmentation_offload(self.most_segments > 1)
            // An observer needs no help to see the round trip.
            .allow_spin(false);
        transport
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_wait_is_as_many_whole_transmits_as_there_is_room_for() {
        let waiting = |payload, most_segments, datagram_send_bytes| {
            let config = Config {
                certain_udp_payload: payload,
                largest_udp_payload: payload,
                most_segments,
                datagram_send_bytes,
                ..Config::default()
            };
            config.waiting_bytes()
        };
        assert_eq!(waiting(1452, 44, 65_536), 44 * 1414);
        assert_eq!(waiting(1200, 10, 65_536), 50 * 1162);
        assert_eq!(waiting(8900, 7, 65_536), 7 * 8862);
        // One has no room: a part of it does.
        assert_eq!(waiting(1452, 64, 65_536), 65_536);
    }
}
