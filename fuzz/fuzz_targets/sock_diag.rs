//! Whatever bytes stand where the kernel's answer should: every message and every field of TCP_INFO is read or
//! absent, and a message list ends.

#![no_main]

use bentpipe_wire::sock_diag::{Message, messages};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut count = 0;
    for message in messages(bytes, 1) {
        count += 1;
        // A message has a header of 16 bytes.
        assert!(count * 16 <= bytes.len() + 16);
        let Message::Socket(socket) = message else { continue };
        assert!(socket.ip() == 4 || socket.ip() == 6);
        if let Some(name) = socket.congestion_control {
            assert!(!name.contains([',', '\n', '"']), "{name:?} would break a table");
        }
        let Some(info) = socket.tcp_info else { continue };
        let seconds = [info.srtt_s(), info.rttvar_s(), info.min_rtt_s(), info.rcv_rtt_s(), info.rto_s()];
        assert!(seconds.into_iter().flatten().all(|time| time >= 0.0));
        assert!(info.ssthresh() != Some(0x7fff_ffff), "an infinite threshold is no number");
        std::hint::black_box((info.ca_state(), info.app_limited(), info.in_flight_bytes()));
        std::hint::black_box((info.pacing_rate_bit_s(), info.delivery_rate_bit_s()));
    }
});
