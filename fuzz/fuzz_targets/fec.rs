//! A coded tunnel whose frames are lost, repeated, reordered, mangled or made up, while time passes. Neither end may panic, hang or
//! keep more than it was allowed; as long as no frame was mangled or made up, a packet that leaves is one that entered, once.

#![no_main]

use arbitrary::Arbitrary;
use bentpipe_base::{Nanos, Time};
use bentpipe_fec::{
    ExactConfig, Policy, ReceiverConfig, ReleaseOrder, SenderConfig, TitrationConfig,
    TunnelReceiver, TunnelSender,
};
use libfuzzer_sys::fuzz_target;
use std::collections::HashSet;

#[derive(Arbitrary, Debug)]
struct Setup {
    window: u8,
    kept: u8,
    policy: u8,
    density: u8,
    titrated: bool,
    exact: bool,
    hold: Option<u16>,
}

#[derive(Arbitrary, Debug)]
enum Step<'a> {
    Push { bytes: u8 },
    /// Frames arrive: which ones of those under way, in which order, and whether they are kept to arrive again.
    Arrive { which: u8, again: bool },
    Lose { which: u8 },
    Report { which: u8 },
    Mangle { which: u8, at: u16, by: u8 },
    MakeUp { frame: &'a [u8] },
    MakeUpReport { frame: &'a [u8] },
    Wait { nanos: u16 },
    NextTimer,
    SetQueue { bytes: u16 },
}

const PACKET_MAX_BYTES: u32 = 64;

fn packet(number: u64, bytes: u8) -> Vec<u8> {
    let mut packet = number.to_be_bytes().to_vec();
    packet.resize(8 + usize::from(bytes) % 56, number as u8 | 1);
    packet
}

fuzz_target!(|input: (Setup, Vec<Step>)| {
    let (setup, steps) = input;
    let window = u32::from(setup.window).max(1);
    let kept = window + u32::from(setup.kept);
    let policy = match setup.policy % 3 {
        0 => Policy::Off,
        1 => Policy::Fixed {
            ratio: f64::from(setup.policy) / 256.0,
        },
        _ => Policy::Adaptive {
            residual: 0.1,
            initial_loss: 0.05,
            max_ratio: 0.9,
        },
    };
    let mut sender = TunnelSender::new(SenderConfig {
        window_packets: window,
        kept_packets: kept,
        packet_max_bytes: PACKET_MAX_BYTES,
        policy,
        density_eighths: setup.density % 8 + 1,
        end_of_burst: Nanos(500),
        recover_within: Nanos(2_000),
        titration: setup.titrated.then_some(TitrationConfig {
            rate_bit_s: 1_000_000_000,
            room_bytes: 100,
            outer_bytes: 28,
            max_waiting: 9,
        }),
    })
    .expect("the sender can work");
    let mut receiver = TunnelReceiver::new(ReceiverConfig {
        kept_packets: kept,
        packet_max_bytes: PACKET_MAX_BYTES,
        max_unknowns: u32::from(setup.kept) / 2,
        order: setup.hold.map_or(ReleaseOrder::AsTheyCome, |hold| {
            ReleaseOrder::InOrder {
                hold: Nanos(hold.into()),
            }
        }),
        exact: setup.exact.then_some(ExactConfig {
            patience: Nanos(700),
            again: Nanos(5000),
            tries: 3,
        }),
        report_every: Nanos(300),
    });
    let mut now = Time::ZERO;
    let mut under_way: Vec<Vec<u8>> = Vec::new();
    let mut reports: Vec<Vec<u8>> = Vec::new();
    let mut pushed: Vec<Vec<u8>> = Vec::new();
    let mut left = HashSet::new();
    let mut honest = true;
    for step in steps {
        match step {
            Step::Push { bytes } => {
                let packet = packet(pushed.len() as u64, bytes);
                if sender.push(now, &packet).is_ok() {
                    pushed.push(packet);
                }
            }
            Step::Arrive { which, again } if !under_way.is_empty() => {
                let at = usize::from(which) % under_way.len();
                let frame = if again {
                    under_way[at].clone()
                } else {
                    under_way.remove(at)
                };
                let _ = receiver.handle(now, &frame);
            }
            Step::Lose { which } if !under_way.is_empty() => {
                let at = usize::from(which) % under_way.len();
                under_way.remove(at);
            }
            Step::Report { which } if !reports.is_empty() => {
                let at = usize::from(which) % reports.len();
                let _ = sender.handle(now, &reports.remove(at));
            }
            Step::Mangle { which, at, by } if !under_way.is_empty() => {
                let frame = usize::from(which) % under_way.len();
                let bytes = under_way[frame].len();
                under_way[frame][usize::from(at) % bytes] ^= by;
                honest &= by == 0;
            }
            Step::MakeUp { frame } => {
                let _ = receiver.handle(now, frame);
                honest = false;
            }
            Step::MakeUpReport { frame } => {
                let _ = sender.handle(now, frame);
            }
            Step::Wait { nanos } => now += Nanos(nanos.into()),
            Step::NextTimer => {
                let timers = [sender.poll_timeout(), receiver.poll_timeout()];
                if let Some(next) = timers.into_iter().flatten().min() {
                    now = now.max(next.min(now + Nanos(1_000_000)));
                }
            }
            Step::SetQueue { bytes } => sender.set_queue(now, bytes.into()),
            _ => {}
        }
        let mut frame = Vec::new();
        let mut frames = 0;
        while let Some(sent) = sender.poll_transmit(now, &mut frame) {
            assert_eq!(sent.wire_bytes as usize, frame.len());
            under_way.push(std::mem::take(&mut frame));
            frames += 1;
            assert!(frames < 10_000, "the sender does not come to an end");
        }
        while let Some(released) = receiver.poll_release(now) {
            assert!(released.packet.len() <= PACKET_MAX_BYTES as usize);
            if honest {
                assert_eq!(released.packet, pushed[released.number as usize]);
                assert!(left.insert(released.number), "it left twice");
            }
        }
        while receiver.poll_transmit(now, &mut frame).is_some() {
            reports.push(std::mem::take(&mut frame));
        }
        // Nothing is due that was just done.
        let timer = receiver.poll_timeout();
        assert!(timer.is_none_or(|at| at > now), "{timer:?} {now:?}");
        let timer = sender.poll_timeout();
        assert!(timer.is_none_or(|at| at > now), "{timer:?} {now:?}");
        under_way.truncate(2000);
        reports.truncate(100);
    }
});
