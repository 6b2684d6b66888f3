//! What a peer sends that means no good. Found by `scripts/fuzz 60 tcp`, or of the same kind.

use bentpipe_base::{Nanos, Time};
use bentpipe_tcp::segment::{Segment, SynOptions, flag};
use bentpipe_tcp::{Config, Outbox, Socket};
use std::sync::Arc;

/// A connection without timestamps to a peer that names this MSS, and the longest payload that leaves.
fn longest_payload(mss: u16) -> u32 {
    let mut out = Outbox::default();
    let config = Arc::new(Config::default());
    let mut socket = Socket::connect(&config, 1500, 7, Time::ZERO, &mut out).expect("cubic");
    out.packets.clear();
    let answer = Segment {
        flags: flag::SYN | flag::ACK,
        ack: 1,
        window: 65_535,
        timestamps: Some((1, 0)),
        syn: SynOptions {
            mss,
            window_scale: None,
            sack_permitted: true,
        },
        ..Segment::default()
    };
    let now = Time::ZERO + Nanos::from_millis(50);
    socket.on_segment(now, &answer, &mut out);
    socket.write(now, 100_000, &mut out);
    out.packets
        .iter()
        .map(|packet| packet.payload)
        .max()
        .expect("data")
}

#[test]
fn segments_stay_usable_however_small_the_peers_mss() {
    // 12 bytes of each are the timestamps.
    for (mss, payload) in [(9000, 1448), (1000, 988), (48, 36), (47, 36), (1, 36)] {
        assert_eq!(longest_payload(mss), payload, "MSS {mss}");
    }
}

#[test]
fn a_peer_that_names_no_mss_gets_segments_of_536_bytes() {
    assert_eq!(longest_payload(0), 536 - 12);
}
