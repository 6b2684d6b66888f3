//! RED: random early detection (Floyd, Jacobson 1993, figure 2 and section 4).
//!
//! Departures and choices:
//! 1. The average is of bytes, and a packet's probability is in proportion to its length over the MTU (the paper's
//!    byte mode, section 4).
//! 2. Gentle (Floyd 2000): between `max` and twice `max` the probability rises from `max_probability` to 1.
//! 3. While the queue is empty the average decays as if packets of one MTU were sent at the shaper's rate (section 4;
//!    the paper's "typical small packet"); with steps, at the rate of time zero.
//! 4. The packet in service is not counted, so the queue can be empty while the link is busy.
//! 5. Defaults are the paper's: weight 0.002, `max_probability` 1/50, 5 and 15 packets (of one MTU).
//! 6. With ECN a packet is marked where the choice is random, and dropped from twice `max` on (RFC 3168, section 7).

use super::fifo::Fifo;
use super::{QueueDiscipline, Room, Tally, Waiting, mark};
use crate::error::{ConfigError, positive, probability};
use crate::packet::Packet;
use crate::time::Time;
use crate::totals::Count;
use bentpipe_base::random::unit;
use rand_xoshiro::Xoshiro256PlusPlus;

#[derive(Clone, Copy, Debug)]
pub(crate) struct RedParameters {
    min_bytes: f64,
    max_bytes: f64,
    max_probability: f64,
    weight: f64,
    mtu: f64,
    /// For how long one packet is sent, in nanoseconds; 0 where the shaper is unlimited.
    packet_ns: f64,
}

impl RedParameters {
    pub fn new(
        min_bytes: Option<u64>,
        max_bytes: Option<u64>,
        max_probability: Option<f64>,
        weight: Option<f64>,
        mtu: u32,
        rate_bit_s: Option<u64>,
    ) -> Result<Self, ConfigError> {
        const FIELD: &str = "queue.discipline";
        let mtu = u64::from(mtu);
        let min = positive(
            format!("{FIELD}.min_bytes"),
            min_bytes.unwrap_or_else(|| max_bytes.map_or(5 * mtu, |max| max / 3)),
        )?;
        let max = max_bytes.unwrap_or(3 * min);
        if max <= min {
            return Err(ConfigError::new(
                format!("{FIELD}.max_bytes"),
                max,
                "more than min_bytes",
            ));
        }
        let weight = positive(format!("{FIELD}.weight"), weight.unwrap_or(0.002))?;
        Ok(Self {
            min_bytes: min as f64,
            max_bytes: max as f64,
            max_probability: probability(
                format!("{FIELD}.max_probability"),
                max_probability.unwrap_or(0.02),
            )?,
            weight: probability(format!("{FIELD}.weight"), weight)?,
            mtu: mtu as f64,
            packet_ns: rate_bit_s.map_or(0.0, |rate| mtu as f64 * 8e9 / rate.max(1) as f64),
        })
    }
}

#[derive(Debug)]
pub(crate) struct Red<P> {
    fifo: Fifo<P>,
    parameters: RedParameters,
    ecn: bool,
    average: f64,
    /// Bytes since the last drop or mark over the MTU; `None` below `min`.
    since_last: Option<f64>,
    /// When the queue became empty.
    empty_since: Option<Time>,
    rng: Xoshiro256PlusPlus,
}

impl<P> Red<P> {
    pub fn new(parameters: RedParameters, ecn: bool, rng: Xoshiro256PlusPlus) -> Self {
        Self {
            fifo: Fifo::new(),
            parameters,
            ecn,
            average: 0.0,
            since_last: None,
            empty_since: None,
            rng,
        }
    }

    fn update_average(&mut self, now: Time) {
        let RedParameters {
            weight, packet_ns, ..
        } = self.parameters;
        match self.empty_since {
            Some(since) if packet_ns > 0.0 => {
                let missed = (now - since).0 as f64 / packet_ns;
                // (1 - w)^m; between whole m's the chord, which for a small w is the curve.
                self.average *=
                    power(1.0 - weight, missed as u64) * (1.0 - weight * missed.fract());
                self.empty_since = Some(now);
            }
            _ => self.average += weight * (self.fifo.depth().bytes as f64 - self.average),
        }
    }

    /// The probability of a drop or mark for an MTU, before it is spread evenly; 1 is a certain drop.
    fn base_probability(&self) -> f64 {
        let RedParameters {
            min_bytes,
            max_bytes,
            max_probability,
            ..
        } = self.parameters;
        if self.average < min_bytes {
            0.0
        } else if self.average < max_bytes {
            max_probability * (self.average - min_bytes) / (max_bytes - min_bytes)
        } else {
            let over = (self.average - max_bytes) / max_bytes;
            (max_probability + (1.0 - max_probability) * over).min(1.0)
        }
    }

    fn early(&mut self, bytes: u32) -> Early {
        let base = self.base_probability();
        if base <= 0.0 {
            if self.average < self.parameters.min_bytes {
                self.since_last = None;
            }
            return Early::Pass;
        }
        if base >= 1.0 {
            self.since_last = Some(0.0);
            return Early::Drop;
        }
        let packets = f64::from(bytes) / self.parameters.mtu;
        let since = self.since_last.map_or(0.0, |since| since + packets);
        let scaled = base * packets;
        let spread = 1.0 - since * base;
        // Beyond its even spread a drop is due.
        if spread <= scaled || unit(&mut self.rng) < scaled / spread {
            self.since_last = Some(0.0);
            Early::Signal
        } else {
            self.since_last = Some(since);
            Early::Pass
        }
    }
}

enum Early {
    Pass,
    /// Mark, or drop what cannot be marked.
    Signal,
    Drop,
}

/// By squaring: the same bits on every machine.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut product = 1.0;
    while exponent > 0 && product > 0.0 {
        if exponent & 1 == 1 {
            product *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    product
}

impl<P: Packet> QueueDiscipline<P> for Red<P> {
    fn enqueue(&mut self, now: Time, mut arrival: Waiting<P>, room: Room, tally: &mut Tally) {
        self.update_average(now);
        let passes = match self.early(arrival.bytes) {
            Early::Pass => true,
            Early::Signal => self.ecn && mark(&mut arrival, tally),
            Early::Drop => false,
        };
        if !passes {
            tally.aqm.add(arrival.bytes);
        } else if room.takes(self.fifo.depth(), arrival.bytes) {
            self.empty_since = None;
            self.fifo.push(arrival);
        } else {
            tally.tail.add(arrival.bytes);
        }
    }

    fn dequeue(&mut self, now: Time, _tally: &mut Tally) -> Option<Waiting<P>> {
        let head = self.fifo.pop()?;
        if self.fifo.depth().packets == 0 {
            self.empty_since = Some(now);
        }
        Some(head)
    }

    fn depth(&self) -> Count {
        self.fifo.depth()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_decays_with_idle_time_and_not_with_how_often_it_is_looked_at() {
        let parameters = RedParameters::new(None, None, None, None, 1500, Some(12_000_000));
        let parameters = parameters.expect("the defaults are valid");
        let decayed = |looks: &[i64]| {
            let mut red = Red::<()>::new(parameters, false, bentpipe_base::stream(1, "red"));
            red.average = 10_000.0;
            red.empty_since = Some(Time::ZERO);
            for &packets in looks {
                red.update_average(Time(packets * 1_000_000));
            }
            red.average
        };
        let once = decayed(&[300]);
        assert!(
            (once - 10_000.0 * 0.998_f64.powi(300)).abs() < 1e-6,
            "{once}"
        );
        assert!((decayed(&[1, 2, 50, 51, 300]) - once).abs() < 1e-6);
    }
}
