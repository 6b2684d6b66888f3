//! What sender and receiver count.

/// What the sender has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SenderCounters {
    pub sources: u64,
    pub repairs: u64,
    pub exact_repairs: u64,
    /// In frames with their headers, without headers below the tunnel.
    pub source_bytes: u64,
    pub repair_bytes: u64,
    pub exact_bytes: u64,
    /// Repairs that were due and never found room.
    pub repairs_given_up: u64,
    /// Asked for, and no longer kept.
    pub asked_too_late: u64,
    /// Asked for while the answer to an earlier asking was still under way.
    pub asked_too_early: u64,
    /// Reports that spoke of packets that were never sent.
    pub implausible_reports: u64,
    /// Losses that were reported, and of them those while the queue was long: they are not coded for.
    pub reported_lost: u64,
    pub reported_overflow: u64,
    /// Of these, those of which the receiver has judged that a full queue dropped them. The others came at a time of long round trips.
    pub judged_overflow: u64,
    /// Missing packets less independent repairs, as last reported.
    pub deficit: u16,
}

/// What the receiver has seen so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounters {
    /// Packets, by how they came first.
    pub sources: u64,
    pub exact_repairs: u64,
    pub recovered: u64,
    /// Packets that were known already.
    pub duplicate_sources: u64,
    pub useless_exact_repairs: u64,
    /// Repairs, by what became of them.
    pub innovative_repairs: u64,
    /// Nothing that they covered was missing, or they followed from others.
    pub useless_repairs: u64,
    /// They covered packets that were no longer kept, or too many were missing.
    pub unusable_repairs: u64,
    /// Packets that the tunnel has lost for good.
    pub residual_lost: u64,
    /// Came after they were given up.
    pub expired: u64,
    pub malformed: u64,
    /// Named packets far from all others, and nothing after them did.
    pub implausible: u64,
    /// Recovered packets whose length was impossible.
    pub corrupt: u64,
    /// Never asked for by `poll_release`.
    pub not_released: u64,
    pub reports: u64,
    pub asked: u64,
}
