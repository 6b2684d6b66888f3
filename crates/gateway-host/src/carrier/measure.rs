//! Measuring a path without a session: near asks, on a connection that carries none, and far counts, answers and sends. A far whose session runs says
//! that it is busy, and neither counts nor sends. The messages are datagrams of the carrier, big-endian, after four bytes that no session's begins with:
//!
//! | bytes | message |
//! |---|---|
//! | 1, run (4), token (8) | near asks how far stands |
//! | 2, run, token, busy (1), rate (8), clock (8), packets (8), bytes (8), span (8) | far: its fixed or capped rate in bit/s or 0; milliseconds since 1970; what has come of the run's packets, and nanoseconds from the first to the last |
//! | 3, run, number (8), and anything | one packet of a run |
//! | 4, run, packets (8), rate (8) | far is to send so many packets, at this rate or its own if that is lower |

use super::{Carrier, Line};
use crate::clock::Now;
use bentpipe_carrier::PeerId;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const MAGIC: [u8; 4] = *b"bpM1";
/// What a run has at most, whatever near asks for.
pub(crate) const MOST_PACKETS: u64 = 100_000;
/// Far makes up for so much of a wake-up that is late.
const CATCH_UP: Duration = Duration::from_millis(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub busy: bool,
    pub rate_bit_s: u64,
    pub clock_ms: u64,
    pub packets: u64,
    pub bytes: u64,
    pub span_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    Ask {
        run: u32,
        token: u64,
    },
    State {
        run: u32,
        token: u64,
        state: State,
    },
    Packet {
        run: u32,
        number: u64,
    },
    Send {
        run: u32,
        packets: u64,
        rate_bit_s: u64,
    },
}

impl Message {
    pub fn to_bytes(self) -> Vec<u8> {
        let (kind, run, numbers) = match self {
            Self::Ask { run, token } => (1, run, vec![token]),
            Self::State { run, token, state } => {
                let all = [
                    state.rate_bit_s,
                    state.clock_ms,
                    state.packets,
                    state.bytes,
                    state.span_ns,
                ];
                (2, run, [&[token, u64::from(state.busy)], &all[..]].concat())
            }
            Self::Packet { run, number } => (3, run, vec![number]),
            Self::Send {
                run,
                packets,
                rate_bit_s,
            } => (4, run, vec![packets, rate_bit_s]),
        };
        let mut out = MAGIC.to_vec();
        out.push(kind);
        out.extend_from_slice(&run.to_be_bytes());
        for number in numbers {
            out.extend_from_slice(&number.to_be_bytes());
        }
        out
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(&MAGIC)?;
        let (&kind, rest) = rest.split_first()?;
        let (run, mut rest) = rest.split_first_chunk::<4>()?;
        let run = u32::from_be_bytes(*run);
        let mut number = || {
            let (number, after) = rest.split_first_chunk::<8>()?;
            rest = after;
            Some(u64::from_be_bytes(*number))
        };
        let message = match kind {
            1 => Self::Ask {
                run,
                token: number()?,
            },
            2 => {
                let (token, busy) = (number()?, number()? != 0);
                let state = State {
                    busy,
                    rate_bit_s: number()?,
                    clock_ms: number()?,
                    packets: number()?,
                    bytes: number()?,
                    span_ns: number()?,
                };
                Self::State { run, token, state }
            }
            3 => Self::Packet {
                run,
                number: number()?,
            },
            4 => Self::Send {
                run,
                packets: number()?,
                rate_bit_s: number()?,
            },
            _ => return None,
        };
        Some(message)
    }
}

/// What has come of one run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Came {
    pub run: u32,
    pub packets: u64,
    pub bytes: u64,
    pub span: Option<(Instant, Instant)>,
}

impl Came {
    pub fn take(&mut self, now: Instant, run: u32, bytes: usize) {
        if self.run != run {
            *self = Self {
                run,
                ..Self::default()
            };
        }
        self.packets += 1;
        self.bytes += bytes as u64;
        let first = self.span.map_or(now, |it| it.0);
        self.span = Some((first, now));
    }

    pub fn span_ns(&self) -> u64 {
        self.span
            .map_or(0, |(first, last)| (last - first).as_nanos() as u64)
    }
}

/// Packets of a run, at a rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Train {
    run: u32,
    number: u64,
    packets: u64,
    every: Duration,
    next: Instant,
}

impl Train {
    /// `bytes`: of one packet on the path.
    pub fn new(now: Instant, run: u32, packets: u64, bytes: u64, rate_bit_s: u64) -> Self {
        Self {
            run,
            number: 0,
            packets: packets.min(MOST_PACKETS),
            every: Duration::from_secs_f64(8.0 * bytes as f64 / rate_bit_s.max(1000) as f64),
            next: now,
        }
    }

    pub fn next_at(&self) -> Option<Instant> {
        (self.number < self.packets).then_some(self.next)
    }

    /// The next packet, if it is due, filled up to `length` bytes.
    pub fn poll(&mut self, now: Instant, length: usize) -> Option<Vec<u8>> {
        self.next_at().filter(|&at| at <= now)?;
        let mut packet = Message::Packet {
            run: self.run,
            number: self.number,
        }
        .to_bytes();
        packet.resize(length.max(packet.len()), 0);
        self.number += 1;
        let earliest = now.checked_sub(CATCH_UP).unwrap_or(now);
        self.next = self.next.max(earliest) + self.every;
        Some(packet)
    }
}

/// Far's part.
#[derive(Debug, Default)]
pub(super) struct Measure {
    /// The fixed or capped rate, in bits of IP packets per second.
    rate_bit_s: Option<u64>,
    came: Came,
    train: Option<(PeerId, Train)>,
    last_run: Option<u32>,
}

impl Carrier {
    /// Far sends no faster when it measures.
    pub fn set_measured_rate(&mut self, rate_bit_s: Option<u64>) {
        self.measure.rate_bit_s = rate_bit_s;
    }

    /// Far: a datagram on a connection that carries no session.
    pub(super) fn on_stray_datagram(&mut self, now: Now, line: Line, datagram: &[u8]) {
        let (None, Line::Quic(peer), Some(message)) =
            (&self.near, line, Message::from_bytes(datagram))
        else {
            return;
        };
        let busy = self.line.is_some();
        let measure = &mut self.measure;
        match message {
            Message::Ask { run, token } => {
                let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
                let came = Some(measure.came)
                    .filter(|came| came.run == run)
                    .unwrap_or_default();
                let state = State {
                    busy,
                    rate_bit_s: measure.rate_bit_s.unwrap_or(0),
                    clock_ms: since_1970.map_or(0, |it| it.as_millis() as u64),
                    packets: came.packets,
                    bytes: came.bytes,
                    span_ns: came.span_ns(),
                };
                let answer = Message::State { run, token, state }.to_bytes();
                // An answer that gets lost is asked for again.
                let _ = self.endpoint.send_datagram(peer, &answer);
            }
            Message::Packet { run, .. } if !busy => {
                measure.came.take(now.instant, run, datagram.len());
            }
            Message::Send {
                run,
                packets,
                rate_bit_s,
            } if !busy && measure.last_run != Some(run) => {
                measure.last_run = Some(run);
                let rate = rate_bit_s.min(measure.rate_bit_s.unwrap_or(u64::MAX));
                let bytes = self.max_datagram as u64 + u64::from(self.outer_bytes);
                measure.train = Some((peer, Train::new(now.instant, run, packets, bytes, rate)));
            }
            _ => {}
        }
    }

    pub(super) fn measure_timeout(&self) -> Option<Instant> {
        self.measure.train.as_ref()?.1.next_at()
    }

    /// Far: sends what near has asked for, as long as there is no session.
    pub(super) fn send_train(&mut self, now: Now) {
        while let Some((peer, train)) = &mut self.measure.train {
            if self.line.is_some() || train.next_at().is_none() {
                self.measure.train = None;
                return;
            }
            let Some(packet) = train.poll(now.instant, self.max_datagram) else {
                return;
            };
            if self.endpoint.send_datagram(*peer, &packet).is_err() {
                self.report.datagrams_dropped += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written_and_what_is_cut_is_none() {
        let state = State {
            busy: true,
            rate_bit_s: 1,
            clock_ms: 2,
            packets: 3,
            bytes: 4,
            span_ns: 5,
        };
        for message in [
            Message::Ask { run: 7, token: 8 },
            Message::State {
                run: 7,
                token: 8,
                state,
            },
            Message::Packet { run: 7, number: 9 },
            Message::Send {
                run: 7,
                packets: 9,
                rate_bit_s: 10,
            },
        ] {
            let bytes = message.to_bytes();
            assert_eq!(Message::from_bytes(&bytes), Some(message));
            for length in 0..bytes.len() {
                assert_eq!(Message::from_bytes(&bytes[..length]), None);
            }
        }
    }

    #[test]
    fn a_train_keeps_its_rate_and_ends() {
        let begun = Instant::now();
        // A packet of 1000 bytes each millisecond.
        let mut train = Train::new(begun, 1, 50, 1000, 8_000_000);
        let mut sent = 0;
        for tenths in 0..1000_u64 {
            let now = begun + Duration::from_micros(100 * tenths);
            while let Some(packet) = train.poll(now, 900) {
                assert_eq!(packet.len(), 900);
                sent += 1;
            }
            assert!(sent <= tenths / 10 + 1);
        }
        assert_eq!((sent, train.next_at()), (50, None));
    }
}
