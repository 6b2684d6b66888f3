//! Our code.

use crate::PACKET_BYTES;
use crate::channel::{Channel, Outcome, Packet, packet};
use crate::clock::timed;
use bentpipe_base::{Nanos, Time};
use bentpipe_fec::field::Kernel;
use bentpipe_fec::{
    Decoder, DecoderConfig, Density, Encoder, Policy, ReceiverConfig, ReleaseOrder, RepairId,
    SenderConfig, TunnelReceiver, TunnelSender,
};

/// As many packets as `blocks` windows, with a repair whenever one is due.
pub fn run(mut channel: Channel, window: usize, repairs: usize, blocks: usize) -> Outcome {
    let (mut encoding_s, mut decoding_s) = (0.0, 0.0);
    let mut encoder = Encoder::new(window, Kernel::fastest());
    let config = DecoderConfig {
        kept_symbols: 2 * window,
        packet_max_bytes: PACKET_BYTES,
        max_unknowns: 2 * window,
    };
    let mut decoder = Decoder::new(config, Kernel::fastest());
    let mut packets: Vec<Packet> = Vec::new();
    let mut owed = 0;
    let mut symbol = Vec::new();
    for number in 0..window * blocks {
        let source = packet(number, PACKET_BYTES);
        timed(&mut encoding_s, || encoder.push(&source));
        let lost = channel.loses();
        packets.push(Packet {
            sent: channel.slot,
            known: (!lost).then_some(channel.slot),
            lost,
            given_up: usize::MAX,
        });
        if !lost {
            timed(&mut decoding_s, || decoder.source(number as u64, &source));
        }
        owed += repairs;
        if owed >= window {
            owed -= window;
            let first = (number + 1).saturating_sub(window);
            let id = RepairId {
                first: first as u64,
                symbols: (number + 1 - first) as u16,
                key: (number * 7 + owed) as u16,
                density: Density::FULL,
            };
            symbol.clear();
            timed(&mut encoding_s, || encoder.repair(&id, &mut symbol));
            if !channel.loses() {
                timed(&mut decoding_s, || decoder.repair(&id, &symbol));
            }
        }
        while let Some(id) = decoder.poll_recovered() {
            let id = id as usize;
            assert_eq!(
                decoder.packet(id as u64),
                Some(&packet(id, PACKET_BYTES)[..])
            );
            packets[id].known = Some(channel.slot);
        }
        // No repair covers it any more, and none that does can be solved once it is forgotten.
        if let Some(gone) = (number + 1).checked_sub(2 * window) {
            packets[gone].given_up = channel.slot;
        }
    }
    packets.truncate(window * (blocks - 2));
    Outcome::new(&packets, encoding_s, decoding_s)
}

/// Processor time of a tunnel's sender and of its receiver.
pub fn tunnel_seconds(window: u32, packets: usize) -> (f64, f64) {
    let mut sender = TunnelSender::new(SenderConfig {
        window_packets: window,
        kept_packets: 2 * window,
        packet_max_bytes: 1500,
        policy: Policy::Fixed {
            ratio: 1.5 * 0.05 / 0.95,
        },
        density_eighths: 8,
        end_of_burst: Nanos::from_millis(5),
        recover_within: Nanos::from_millis(375),
        titration: None,
    })
    .expect("the sender can work");
    let mut receiver = TunnelReceiver::new(ReceiverConfig {
        kept_packets: 2 * window,
        packet_max_bytes: 1500,
        max_unknowns: 2 * window,
        order: ReleaseOrder::InOrder {
            hold: Nanos::from_millis(100),
        },
        exact: None,
        report_every: Nanos::from_millis(25),
    });
    let mut channel = Channel::new(0.05, 1.0, 1);
    let (mut sending_s, mut receiving_s) = (0.0, 0.0);
    let mut now = Time::ZERO;
    let mut released = 0;
    let mut report = Vec::new();
    // Frames are handed over in lots, so that reading the clock counts for little.
    for lot in 0..packets / 100 {
        let sources: Vec<Vec<u8>> = (0..100)
            .map(|at| packet(lot * 100 + at, PACKET_BYTES))
            .collect();
        let mut frames = Vec::new();
        timed(&mut sending_s, || {
            for source in &sources {
                now += Nanos::from_micros(10);
                sender.push(now, source).expect("there is room");
                let mut frame = Vec::with_capacity(1500);
                while sender.poll_transmit(now, &mut frame).is_some() {
                    frames.push(std::mem::replace(&mut frame, Vec::with_capacity(1500)));
                }
            }
        });
        frames.retain(|_| !channel.loses());
        timed(&mut receiving_s, || {
            for frame in &frames {
                receiver.handle(now, frame).expect("a frame");
                while let Some(packet) = receiver.poll_release(now) {
                    released += packet.packet.len();
                }
                report.clear();
                receiver.poll_transmit(now, &mut report);
            }
        });
        if !report.is_empty() {
            timed(&mut sending_s, || {
                sender.handle(now, &report).expect("a report")
            });
        }
    }
    assert!(released > packets * PACKET_BYTES * 99 / 100);
    (sending_s, receiving_s)
}
