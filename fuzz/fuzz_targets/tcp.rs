//! A TCP endpoint whose peer sends what it likes: any flags, numbers, windows, SACK blocks, timestamps and lengths at any times,
//! while the application writes, reads and closes. The endpoint checks its invariants after each step; beyond them nothing may leave that
//! the peer could not take for its own: data within what was written, acknowledgements of what came.

#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use bentpipe_base::{Ecn, Nanos, Time};
use bentpipe_tcp::segment::{SackBlocks, Segment, SynOptions, flag};
use bentpipe_tcp::{Config, Notice, Outbox, Socket, State};
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

const CONTROLS: [&str; 6] = ["cubic", "reno", "bbr", "bbr3", "hybla", "slow-start"];

#[derive(Arbitrary, Clone, Copy, Debug)]
struct Setup {
    control: u8,
    switches: u8,
    passive: bool,
    small_buffers: bool,
    slow_reader: bool,
    mss: u16,
    scale: u8,
    peer: u8,
    window: u16,
}

/// A number near one that matters to the endpoint, or any.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Near {
    to: u8,
    by: i16,
    segments: i8,
}

#[derive(Arbitrary, Clone, Debug)]
struct Arrival {
    flags: u8,
    ends: bool,
    seq: Near,
    ack: Near,
    window: u16,
    payload: u16,
    blocks: [Option<(Near, Near)>; 2],
    timestamp: Option<(i8, i8)>,
    ce: bool,
    segments: u8,
}

#[derive(Arbitrary, Clone, Debug)]
enum Step {
    /// A segment as an honest peer would send it: it acknowledges so many segments, and brings data in order.
    Honest { acked: u8, payload: u16 },
    Arrives(Box<Arrival>),
    Waits { micros: u16 },
    NextTimer,
    Writes(u32),
    /// Seldom, for little happens afterwards.
    Ends(u8),
}

/// What the peer knows.
struct Peer {
    /// The next byte that it would send, and what it has been sent.
    seq: u64,
    highest: u64,
    acked: u64,
    clock: u32,
    echo: u32,
    timestamps: bool,
    sack: bool,
}

impl Peer {
    fn number(&self, near: Near) -> u64 {
        let base = match near.to % 8 {
            0 => 0,
            1 => self.acked,
            2 | 3 => self.highest,
            4 | 5 => self.seq,
            6 => 1 << 31,
            _ => (self.acked + self.highest) / 2,
        };
        base.saturating_add_signed(i64::from(near.by % 4) + i64::from(near.segments) * 1448)
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut source = Unstructured::new(bytes);
    let Ok(setup) = Setup::arbitrary(&mut source) else { return };
    let on = |bit: u8| setup.switches & (1 << bit) == 0;
    let mut config = Config {
        congestion_control: CONTROLS[usize::from(setup.control) % CONTROLS.len()].into(),
        sack: on(0),
        dsack: on(1),
        window_scaling: on(2),
        timestamps: on(3),
        ecn: !on(4),
        nagle: on(5),
        slow_start_after_idle: on(6),
        ip: if on(7) { 4 } else { 6 },
        ..Config::default()
    };
    if setup.small_buffers {
        config.tcp_rmem = [4096, 16_384, 65_536];
        config.tcp_wmem = [4096, 16_384, 65_536];
    }
    if setup.slow_reader {
        config.read_rate_bit_s = Some(2_000_000);
    }
    let config = Arc::new(config);
    let mut out = Outbox::default();
    let mut now = Time(0);
    let willing = |bit: u8| setup.peer & (1 << bit) == 0;
    let mut peer = Peer {
        seq: 1,
        highest: 1,
        acked: 1,
        clock: u32::from(setup.mss) << 16,
        echo: 0,
        timestamps: willing(0),
        sack: willing(1),
    };
    let mut syn = Segment {
        flags: flag::SYN,
        window: setup.window,
        timestamps: peer.timestamps.then_some((peer.clock, 0)),
        syn: SynOptions {
            mss: setup.mss,
            window_scale: willing(2).then_some(setup.scale),
            sack_permitted: peer.sack,
        },
        segments: 1,
        ..Segment::default()
    };
    if !willing(3) {
        syn.flags |= flag::ECE | flag::CWR;
    }
    let opened = if setup.passive {
        Socket::accept(&syn, &config, 1500, 7, now, &mut out)
    } else {
        Socket::connect(&config, 1500, 7, now, &mut out)
    };
    let mut socket = opened.expect("a known congestion control");
    now += Nanos::from_millis(50);
    let answer = if setup.passive {
        Segment { flags: flag::ACK, seq: 1, ack: 1, syn: SynOptions::default(), ..syn }
    } else {
        Segment { flags: syn.flags | flag::ACK, ack: 1, ..syn }
    };
    socket.on_segment(now, &answer, &mut out);
    let mut written = 0_u64;
    let (mut read, mut ended, mut closed) = (0, false, false);
    while let Ok(step) = Step::arbitrary(&mut source) {
        if source.is_empty() {
            break;
        }
        match step {
            Step::Honest { acked, payload } => {
                peer.clock = peer.clock.wrapping_add(1);
                peer.acked = (peer.acked + u64::from(acked) * 1448).min(peer.highest);
                let payload = u32::from(payload) % 1449;
                let packet = Segment {
                    flags: flag::ACK,
                    wire_bytes: 52 + payload,
                    seq: peer.seq,
                    payload,
                    ack: peer.acked,
                    window: setup.window,
                    timestamps: peer.timestamps.then_some((peer.clock, peer.echo)),
                    segments: 1,
                    ..Segment::default()
                };
                peer.seq += u64::from(payload);
                socket.on_segment(now, &packet, &mut out);
            }
            Step::Arrives(arrival) => {
                let ack = peer.number(arrival.ack);
                let mut sack = SackBlocks::default();
                for (start, end) in arrival.blocks.into_iter().flatten() {
                    sack.push(ack, peer.number(start), peer.number(end));
                }
                let payload = u32::from(arrival.payload);
                let seldom = if arrival.ends { 0 } else { flag::RST | flag::SYN | flag::FIN };
                let packet = Segment {
                    flags: (arrival.flags ^ flag::ACK) & !seldom,
                    ecn: if arrival.ce { Ecn::Ce } else { Ecn::NotEct },
                    wire_bytes: 52 + payload,
                    seq: peer.number(arrival.seq),
                    payload,
                    ack,
                    window: arrival.window,
                    timestamps: arrival.timestamp.map(|(value, echo)| {
                        let clock = peer.clock.wrapping_add_signed(i32::from(value));
                        (clock, peer.echo.wrapping_add_signed(i32::from(echo)))
                    }),
                    sack,
                    syn: syn.syn,
                    segments: u16::from(arrival.segments),
                };
                socket.on_segment(now, &packet, &mut out);
            }
            Step::Waits { micros } => {
                let until = now + Nanos::from_micros(i64::from(micros));
                while let Some(at) = socket.next_timer().filter(|&at| at <= until) {
                    now = now.max(at);
                    socket.on_timer(now, &mut out);
                }
                now = until;
                peer.clock = peer.clock.wrapping_add(u32::from(micros) / 1000);
            }
            Step::NextTimer => {
                if let Some(at) = socket.next_timer() {
                    now = now.max(at);
                    socket.on_timer(now, &mut out);
                    assert!(socket.next_timer().is_none_or(|next| next > now), "a timer fires for ever");
                }
            }
            Step::Writes(bytes) => {
                let bytes = u64::from(bytes) % 1_000_000;
                socket.write(now, bytes, &mut out);
                written += bytes;
            }
            Step::Ends(how) => match how {
                0..8 => socket.stop_writing(now),
                8..16 => socket.close(now, &mut out),
                16 => socket.abort(now, &mut out),
                _ => {}
            },
        }
        let largest_ack = 1 + (1 << 40);
        for packet in out.packets.drain(..) {
            assert!(packet.end_seq() <= 2 + written, "more than was written: {packet:?}");
            assert!(packet.ack <= largest_ack && packet.wire_bytes <= 1500, "{packet:?}");
            peer.highest = peer.highest.max(packet.end_seq());
            peer.echo = packet.timestamps.map_or(peer.echo, |(value, _)| value);
        }
        for notice in out.notices.drain(..) {
            match notice {
                Notice::Read(bytes) => {
                    assert!(!ended, "read beyond the end");
                    read += bytes;
                }
                Notice::PeerClosed => assert!(!core::mem::replace(&mut ended, true), "ended twice"),
                Notice::Closed(_) => assert!(!core::mem::replace(&mut closed, true), "closed twice"),
                Notice::Connected | Notice::Drained => {}
            }
        }
        assert_eq!(socket.bytes_read(), read);
        // A slow reader may still have something to read.
        let over = socket.state() == State::Closed && !setup.slow_reader;
        assert!(!over || socket.next_timer().is_none(), "a closed socket waits: {setup:?}");
        assert!(socket.sample(now).in_flight_bytes <= 1 << 40);
    }
});
