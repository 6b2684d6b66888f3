//! Single happenings of a flow with their time: as many as there is room for, the rest counted.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// Passed here before, or fills a hole that the path made before this point.
    Retransmission,
    /// A retransmission that no acknowledgement called for: after a timeout.
    Timeout,
    /// A hole that a retransmission filled: the time is when it was seen.
    Loss,
    /// Lasted: how late the segment was.
    Reordering,
    /// The receiver had these bytes already, by a D-SACK or by an acknowledgement that had passed here.
    Duplicate,
    ZeroWindow,
    /// Nothing in flight and nothing sent: the sender's application paused.
    Gap,
    /// Data in flight, and no acknowledgement.
    Silence,
    Mark,
    Reset,
}

impl EventKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Retransmission => "retransmission",
            Self::Timeout => "timeout",
            Self::Loss => "loss",
            Self::Reordering => "reordering",
            Self::Duplicate => "duplicate",
            Self::ZeroWindow => "zero-window",
            Self::Gap => "gap",
            Self::Silence => "silence",
            Self::Mark => "mark",
            Self::Reset => "reset",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub at_ns: i64,
    pub kind: EventKind,
    pub bytes: u64,
    pub lasted_ns: i64,
}

const MOST: usize = 10_000;

#[derive(Debug, Default)]
pub struct Events {
    kept: Vec<Event>,
    pub left_out: u64,
    is_limited: bool,
}

impl Events {
    pub fn push(&mut self, event: Event) {
        if self.kept.len() < MOST && !self.is_limited {
            self.kept.push(event);
        } else {
            self.left_out += 1;
        }
    }

    /// Keeps the first so many, and takes no more if there were more.
    pub fn limit(&mut self, most: usize) {
        if self.kept.len() > most {
            self.left_out += (self.kept.len() - most) as u64;
            self.kept.truncate(most);
            self.kept.shrink_to_fit();
            self.is_limited = true;
        }
    }

    pub fn as_slice(&self) -> &[Event] {
        &self.kept
    }
}
