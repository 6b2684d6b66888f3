//! Where on the path a capture was taken, as one flow shows it: from the round-trip time on either side.

use crate::flow::Flow;
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Vantage {
    Sender,
    Receiver,
    Between,
}

/// Up to this share of the whole round-trip time lies between an end and a capture at that end.
const AT_THE_END: f64 = 0.1;
/// An end's own delay, where the whole path is short.
const HOST_NS: i64 = 1_000_000;

/// `None`: neither time stamps nor the handshake show both sides.
pub fn vantage(flow: &Flow) -> Option<Vantage> {
    let (near_ns, far_ns) = (flow.near.min_ns?, flow.far.min_ns?);
    let near_share = near_ns as f64 / (near_ns + far_ns).max(1) as f64;
    Some(if near_share <= AT_THE_END {
        Vantage::Sender
    } else if near_share >= 1.0 - AT_THE_END {
        Vantage::Receiver
    } else if near_ns <= HOST_NS && near_ns <= far_ns {
        Vantage::Sender
    } else if far_ns <= HOST_NS {
        Vantage::Receiver
    } else {
        Vantage::Between
    })
}
