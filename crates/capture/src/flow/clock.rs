//! The clock of one end, as its time stamps show it (RFC 7323, 5.4): ticks of a length that is not known.

/// A time stamp, and when the first packet with it passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    pub at_ns: i64,
    /// Since the end's first time stamp. The 32 bits of a time stamp are unwrapped.
    pub ticks: i64,
}

/// A clock that says less tells nothing of the length of its ticks.
const LEAST_TICKS: i64 = 100;
/// No tick is longer (RFC 7323, 5.4).
const LONGEST_TICK_NS: i64 = 1_000_000_000;

#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    first_ns: i64,
    latest: Option<(u32, Reading)>,
}

impl Clock {
    /// A packet that comes after a later one says nothing.
    pub fn read(&mut self, at_ns: i64, timestamps: Option<(u32, u32)>) {
        let Some((value, _)) = timestamps else {
            return;
        };
        let ticks = match self.latest {
            None => {
                self.first_ns = at_ns;
                0
            }
            Some((last, reading)) => {
                let step = value.wrapping_sub(last) as i32;
                if step <= 0 {
                    return;
                }
                reading.ticks.saturating_add(step.into())
            }
        };
        self.latest = Some((value, Reading { at_ns, ticks }));
    }

    /// The latest time at which a packet with this time stamp was sent, by this clock. `None`: the clock says nothing, or the packet
    /// was sent before the latest one that passed.
    pub fn at_most_ns(&self, value: u32) -> Option<i64> {
        let (last, reading) = self.latest?;
        let ticks = i64::from(value.wrapping_sub(last) as i32);
        let tick_ns = if reading.ticks >= LEAST_TICKS {
            (reading.at_ns - self.first_ns) / reading.ticks
        } else {
            LONGEST_TICK_NS
        };
        (reading.ticks > 0 && ticks >= 0)
            .then(|| reading.at_ns.saturating_add(ticks.saturating_mul(tick_ns)))
    }

    pub fn latest(&self) -> Option<Reading> {
        self.latest.map(|(_, reading)| reading)
    }
}
