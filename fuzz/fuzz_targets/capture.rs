//! Any bytes as a capture, in pieces: read or refused, counters that never fall, and no more flows than connections have ends.

#![no_main]

use bentpipe_capture::Analysis;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let piece = usize::from(bytes.first().copied().unwrap_or(0)) + 1;
    let mut analysis = Analysis::default();
    let mut held: Vec<u8> = Vec::new();
    let mut is_sound = true;
    for next in bytes.chunks(piece) {
        held.extend_from_slice(next);
        match analysis.feed(&held) {
            Ok((taken, needed)) => {
                assert!(taken <= held.len());
                held.drain(..taken);
                assert!(needed > held.len() || taken == 0 && held.is_empty());
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                is_sound = false;
                break;
            }
        }
    }
    if is_sound {
        let _ = analysis.end(&held);
    }
    let capture = analysis.finish();
    let facts = capture.facts();
    assert!(facts.flows.len() <= 2 * capture.connections.len());
    for flow in &facts.flows {
        assert!(flow.counters.retransmitted_bytes <= flow.counters.sent_bytes);
        let samples = capture.samples(flow.connection, flow.side);
        let sent = samples.integers.iter().find(|(name, _)| *name == "sent_bytes");
        assert!(sent.is_some_and(|(_, column)| column.is_sorted()));
        capture.events(flow.connection, flow.side);
    }
});
