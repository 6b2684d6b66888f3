//! What a peer sends that means no good. Found by `scripts/fuzz 60 tcp`, or of the same kind.

use crate::plain;
use bentpipe_base::{Nanos, Time};
use bentpipe_tcp::segment::{Segment, SynOptions, flag};
use bentpipe_tcp::{Config, Notice, Outbox, Socket};
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

#[test]
fn nothing_is_read_beyond_the_peers_fin() {
    let script = plain().run(
        "  0 <   data 0..1 fin
           0 >   ack 1+1
          10 <   data 1+1..2
         100 is  read 1448",
    );
    let end = script
        .notices
        .iter()
        .position(|notice| *notice == Notice::PeerClosed);
    assert_eq!(end, Some(script.notices.len() - 1));
}

#[test]
fn a_fin_inside_of_what_has_arrived_ends_nothing() {
    let script = plain().run(
        "  0 <   data 0..2
           0 >   ack 2
          10 <   data 1..1+1447 fin
          10 >   ack 2 dsack 1..2
          20 <   data 2..3
          20 >   ack 3
         100 is  tcp ESTAB read 4344",
    );
    assert!(!script.notices.contains(&Notice::PeerClosed));
}

#[test]
fn a_loss_whose_repair_is_called_needless_is_repaired_again() {
    // The second block encloses the first, so that is a duplicate's; but it ends beyond what was sent, so nothing is SACKed by it.
    plain().run(
        "  0 app write 10
           0 >   data 0..10
         100 <   ack 0 sack 3..8
         100 >   data 0..1
         100 >   data 1..2
         100 >   data 2..3
         105 <   ack 0 dsack 1+1..2+1 sack 1..99
         105 >   data 1..2
         105 is  lost 3 retrans_out 3",
    );
}

#[test]
fn an_echo_of_the_future_is_no_round_trip_time() {
    // Only the echo tells the RTT of a segment that was sent twice.
    plain().run(
        "  0 app write 1
           0 >   data 0..1
         300 >   data 0..1
         400 <   ack 1 echo 5000
         400 is  srtt 100 rto 300",
    );
}
