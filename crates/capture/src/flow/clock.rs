//! The clock of one end, as its time stamps show it (RFC 7323, 5.4): ticks of a length that is not known.

/// A time stamp, and when the first packet with it passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    pub at_ns: i64,
    /// Since the end's first time stamp. The 32 bits of a time stamp are unwrapped.
    pub ticks: i64,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    latest: Option<(u32, Reading)>,
}

impl Clock {
    /// A packet that comes after a later one says nothing.
    pub fn read(&mut self, at_ns: i64, timestamps: Option<(u32, u32)>) {
        let Some((value, _)) = timestamps else {
            return;
        };
        let ticks = match self.latest {
            None => 0,
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

    pub fn latest(&self) -> Option<Reading> {
        self.latest.map(|(_, reading)| reading)
    }
}
