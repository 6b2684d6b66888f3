//! What holds of any file.

use crate::building::{ACK, CLIENT, SERVER, SYN, Tcp, in_pieces, raw};
use bentpipe_capture::Capture;
use proptest::prelude::*;

fn whatever(bytes: &[u8], piece: usize) -> Capture {
    in_pieces(bytes, piece).unwrap_or_else(|failed| failed.1)
}

fn segments() -> impl Strategy<Value = Vec<(i64, Tcp)>> {
    let one = (
        prop::bool::ANY,
        0..40_u32,
        0..40_u32,
        0..3_u16,
        0..5_000_000_i64,
        prop::sample::select(vec![ACK, SYN, SYN | ACK, ACK | 1, ACK | 4]),
        prop::option::of((0..50_u32, 0..50_u32)),
        prop::collection::vec((0..40_u32, 0..40_u32), 0..3),
    );
    prop::collection::vec(one, 1..120).prop_map(|steps| {
        let mut at = 0;
        steps
            .into_iter()
            .map(
                |(is_client, seq, ack, payload, wait, flags, times, blocks)| {
                    at += wait;
                    let from = if is_client { CLIENT } else { SERVER };
                    let mut tcp = Tcp::new(from, seq * 500, ack * 500, payload * 500).flags(flags);
                    if let Some((value, echo)) = times {
                        tcp = tcp.times(value, echo);
                    }
                    if !blocks.is_empty() {
                        let scaled: Vec<_> =
                            blocks.iter().map(|(a, b)| (a * 500, b * 500)).collect();
                        tcp = tcp.sack(&scaled);
                    }
                    (at, tcp)
                },
            )
            .collect()
    })
}

/// Times that go anywhere, within the 32 bits of a capture's seconds.
fn unsorted() -> impl Strategy<Value = Vec<(i64, Tcp)>> {
    let times = prop::collection::vec(
        prop_oneof![0..4_000_000_000_i64, 0..4_294_967_295_000_000_000_i64],
        120,
    );
    (segments(), times).prop_map(|(packets, times)| {
        let packets = packets.into_iter().map(|(_, segment)| segment);
        times.into_iter().zip(packets).collect()
    })
}

proptest! {
    #[test]
    fn times_in_any_order_give_samples_in_order(packets in unsorted()) {
        let capture = whatever(&raw(&packets), 4096);
        for flow in capture.facts().flows {
            let samples = capture.samples(flow.connection, flow.side);
            for (name, column) in &samples.floats {
                let values: Vec<f64> = column.iter().flatten().copied().collect();
                prop_assert!(*name != "time_s" || values.is_sorted(), "{:?}", values);
            }
            prop_assert!(flow.start_s <= flow.end_s);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400), piece in 1..100_usize) {
        whatever(&bytes, piece).facts();
    }

    #[test]
    fn counters_never_fall_and_agree_with_the_totals(packets in segments()) {
        let capture = whatever(&raw(&packets), 4096);
        prop_assert_eq!(capture.counts.tcp, packets.len() as u64);
        for flow in capture.facts().flows {
            let samples = capture.samples(flow.connection, flow.side);
            for (name, column) in &samples.integers {
                let values: Vec<i64> = column.iter().flatten().copied().collect();
                if ["outstanding_bytes", "in_flight_bytes", "rwnd_bytes", "arrived_bytes"].contains(name) {
                    prop_assert!(values.iter().all(|&value| value >= 0));
                } else {
                    prop_assert!(values.is_sorted(), "{} {:?}", name, values);
                }
            }
            for (name, column) in &samples.floats {
                let values: Vec<f64> = column.iter().flatten().copied().collect();
                prop_assert!(values.iter().all(|&value| value >= 0.0), "{} {:?}", name, values);
            }
            prop_assert!(flow.counters.retransmitted_bytes <= flow.counters.sent_bytes);
            let sent = samples.integers.iter().find(|(name, _)| *name == "sent_bytes");
            let last = sent.and_then(|(_, column)| column.last().copied().flatten());
            prop_assert_eq!(last, Some(flow.counters.sent_bytes as i64));
        }
    }

    #[test]
    fn a_capture_that_is_cut_anywhere_never_shows_more(packets in segments(), cut in 0.0..1.0_f64) {
        let file = raw(&packets);
        let end = (file.len() as f64 * cut) as usize;
        let (whole, part) = (whatever(&file, 4096), whatever(&file[..end], 4096));
        prop_assert!(part.counts.packets <= whole.counts.packets);
        let sent = |capture: &Capture| -> u64 {
            capture.facts().flows.iter().map(|flow| flow.counters.sent_bytes).sum()
        };
        prop_assert!(sent(&part) <= sent(&whole));
    }
}
