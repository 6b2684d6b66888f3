//! Sums over a pipe's whole life, and the causes for which a packet is lost.

/// Why a packet did not leave the pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum DropCause {
    /// The queue's limit was reached, whichever packet the discipline then chose.
    Tail,
    /// The queue discipline dropped it to signal congestion, before the limit was reached.
    Aqm,
    /// It did not conform to the policer's token bucket.
    Policer,
    /// Lost at random before the queue.
    Ingress,
    /// The delay line was full.
    Line,
    /// Lost at random on the channel.
    Channel,
    /// It would have left during an outage.
    Outage,
}

impl DropCause {
    pub const COUNT: usize = 7;
    /// In the order of the `link` table's columns.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Tail,
        Self::Aqm,
        Self::Policer,
        Self::Ingress,
        Self::Line,
        Self::Channel,
        Self::Outage,
    ];

    /// As in the `link` table's columns, after `drops_`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tail => "tail",
            Self::Aqm => "aqm",
            Self::Policer => "policer",
            Self::Ingress => "ingress",
            Self::Line => "line",
            Self::Channel => "channel",
            Self::Outage => "outage",
        }
    }

    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Packets, and the sum of their lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub packets: u64,
    pub bytes: u64,
}

impl Count {
    pub(crate) fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }

    pub(crate) fn remove(&mut self, bytes: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(bytes);
    }
}

impl core::ops::Add for Count {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            packets: self.packets + other.packets,
            bytes: self.bytes + other.bytes,
        }
    }
}

impl core::ops::Sub for Count {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self {
            packets: self.packets - other.packets,
            bytes: self.bytes - other.bytes,
        }
    }
}

/// At every instant, `offered + duplicated = delivered + dropped + held`, in packets and in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Arrived at the pipe's entrance.
    pub offered: Count,
    /// Left the pipe, by the model's time (perhaps not yet taken by `pop`).
    pub delivered: Count,
    /// Indexed by [`DropCause::index`].
    pub dropped: [Count; DropCause::COUNT],
    /// Extra copies made by the channel.
    pub duplicated: Count,
    /// In the queue, in service or on the line now.
    pub held: Count,
    /// Packets given the CE codepoint by the queue.
    pub marked_packets: u64,
    /// Of those delivered, packets with a flipped bit.
    pub corrupted_packets: u64,
}

impl Totals {
    pub fn dropped_by(&self, cause: DropCause) -> Count {
        self.dropped[cause.index()]
    }

    /// Over all causes.
    pub fn dropped_in_all(&self) -> Count {
        self.dropped
            .iter()
            .fold(Count::default(), |sum, &count| sum + count)
    }
}
