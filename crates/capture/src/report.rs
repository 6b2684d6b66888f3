//! What was found, as plain figures and columns: what the Python side makes its evidence of.

use crate::analysis::{Capture, PacketCounts};
use crate::connection::{Connection, Offered};
use crate::flow::{Counters, Flow};
use crate::vantage::{Vantage, vantage};
use serde::Serialize;

/// A capture without its samples.
#[derive(Clone, Debug, Serialize)]
pub struct CaptureFacts {
    pub packets: PacketCounts,
    pub unknown_link: Option<u16>,
    pub missed_packets: u64,
    pub untimed_packets: u64,
    pub times_run_backwards: bool,
    /// Since 1970.
    pub start_s: f64,
    pub duration_s: f64,
    pub given_up_connections: u64,
    pub given_up_bytes: u64,
    /// Of all connections, in the order in which they began.
    pub flows: Vec<FlowFacts>,
}

/// One direction of a connection. Times are from the beginning of the capture.
#[expect(clippy::struct_excessive_bools, reason = "facts for JSON")]
#[derive(Clone, Debug, Serialize)]
pub struct FlowFacts {
    pub connection: usize,
    /// 0: the end that opened the connection sends; 1: the other.
    pub side: usize,
    pub sender: String,
    pub sender_port: u16,
    pub receiver: String,
    pub receiver_port: u16,
    pub has_handshake: bool,
    pub vantage: Option<Vantage>,
    pub start_s: f64,
    pub first_data_s: Option<f64>,
    pub last_data_s: f64,
    pub end_s: f64,
    pub delivered_bytes: u64,
    pub mss_bytes: u32,
    pub largest_payload_bytes: u32,
    pub sender_offered: Option<Offered>,
    pub receiver_offered: Option<Offered>,
    pub handshake_rtt_s: Option<f64>,
    /// Smallest, from here to the receiver and back, and to the sender and back.
    pub far_rtt_s: Option<f64>,
    pub near_rtt_s: Option<f64>,
    /// As `far_rtt_s`, without the handshake's.
    pub far_rtt_of_data_s: Option<f64>,
    pub has_near_samples: bool,
    /// Of the receiver's window: known from the handshake, or estimated; null where there was not enough to estimate it from.
    pub window_shift: Option<u8>,
    pub is_window_shift_known: bool,
    pub closed: bool,
    pub reset: bool,
    /// Packets of the connection that were captured twice, and how much later the copies came in the mean.
    pub captured_twice: u64,
    pub copies_later_s: f64,
    /// Steps of the capture's clock within the connection, which were taken out, and the largest of them.
    pub clock_steps: u64,
    pub largest_clock_step_s: f64,
    /// Packets of the connection that are earlier than one before them, though they were sorted: their times say nothing.
    pub late_packets: u64,
    pub hop_limit: Option<u8>,
    pub sample_width_s: f64,
    pub events_left_out: u64,
    /// Rates in bit/s of payload, and how many trains of segments came at each: [`Flow::train_rates`].
    pub train_rates: Vec<(f64, u32)>,
    #[serde(flatten)]
    pub counters: Counters,
}

/// The samples and events of one flow, a vector per column. Times are in seconds from the beginning of the capture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowColumns {
    pub integers: Vec<(&'static str, Vec<Option<i64>>)>,
    pub floats: Vec<(&'static str, Vec<Option<f64>>)>,
    pub texts: Vec<(&'static str, Vec<&'static str>)>,
}

impl Capture {
    pub fn facts(&self) -> CaptureFacts {
        let flows = self.connections.iter().enumerate().flat_map(|(index, it)| {
            let of = move |side| flow_facts(index, it, side);
            [of(0), of(1)].into_iter().flatten()
        });
        CaptureFacts {
            packets: self.counts,
            unknown_link: self.unknown_link,
            missed_packets: self.notes.missed_packets,
            untimed_packets: self.notes.untimed_packets,
            times_run_backwards: self.times_run_backwards,
            start_s: seconds(self.first_ns),
            duration_s: seconds(self.last_ns.saturating_sub(self.first_ns)),
            given_up_connections: self.given_up.connections,
            given_up_bytes: self.given_up.payload_bytes,
            flows: flows.collect(),
        }
    }

    /// The samples of one flow (by [`FlowFacts::connection`] and `side`); of none that there is not.
    pub fn samples(&self, connection: usize, side: usize) -> FlowColumns {
        let Some(flow) = self.flow(connection, side) else {
            return FlowColumns::default();
        };
        let rows: Vec<_> = flow.timeline.rows().copied().collect();
        let is_receiver = vantage(flow) == Some(Vantage::Receiver);
        let shift = flow.scale.shift();
        let has_rtt = flow.near.samples > 0 || vantage(flow) == Some(Vantage::Sender);
        macro_rules! integers {
            ($($name:literal: $value:expr),+ $(,)?) => {
                vec![$(($name, rows.iter().map($value).collect())),+]
            };
        }
        let integers: Vec<(&'static str, Vec<Option<i64>>)> = integers! {
            "sent_bytes": |it| Some(whole(it.sent_bytes)),
            "delivered_bytes": |it| Some(whole(if is_receiver { it.received_bytes } else { it.acknowledged_bytes })),
            "arrived_bytes": |it| Some(whole(it.arrived_bytes)),
            "retransmitted_bytes": |it| Some(whole(it.retransmitted_bytes)),
            "retransmits": |it| Some(whole(it.retransmits)),
            "timeouts": |it| Some(whole(it.timeouts)),
            "segments_sent": |it| Some(whole(it.segments)),
            "acks": |it| Some(whole(it.acks)),
            "out_of_order": |it| Some(whole(it.out_of_order)),
            "marked": |it| Some(whole(it.marked)),
            "short_segments": |it| Some(whole(it.short_segments)),
            "pushes": |it| Some(whole(it.pushes)),
            "single_pushes": |it| Some(whole(it.single_pushes)),
            "equal_pushes": |it| Some(whole(it.equal_pushes)),
            "bursts": |it| Some(whole(it.bursts)),
            "unprompted_bursts": |it| Some(whole(it.unprompted_bursts)),
            "outstanding_bytes": |it| it.outstanding_bytes.map(whole),
            "in_flight_bytes": |it| it.in_flight_bytes.map(whole),
            "rwnd_bytes": |it| it.window.zip(shift).map(|(window, shift)| whole(u64::from(window) << shift)),
            "sender_ticks": |it| it.sender_clock.map(|clock| clock.ticks),
            "receiver_ticks": |it| it.receiver_clock.map(|clock| clock.ticks),
        };
        let floats: Vec<(&'static str, Vec<Option<f64>>)> = integers! {
            "time_s": |it| Some(seconds(it.at_ns)),
            "busy_s": |it| Some(seconds(it.busy_ns)),
            "rwnd_limited_s": |it| shift.map(|_| seconds(it.rwnd_limited_ns)),
            "srtt_s": |it| it.far_ns.zip(it.near_ns).filter(|_| has_rtt).map(|(far, near)| seconds(far + near)),
            "min_rtt_s": |it| it.min_far_ns.zip(it.min_near_ns).map(|(far, near)| seconds(far + near)),
            "sender_ticks_s": |it| it.sender_clock.map(|clock| seconds(clock.at_ns)),
            "receiver_ticks_s": |it| it.receiver_clock.map(|clock| seconds(clock.at_ns)),
        };
        FlowColumns {
            integers,
            floats,
            texts: vec![(
                "recovery",
                rows.iter().map(|it| it.recovery.name()).collect(),
            )],
        }
    }

    /// The events of one flow.
    pub fn events(&self, connection: usize, side: usize) -> FlowColumns {
        let Some(flow) = self.flow(connection, side) else {
            return FlowColumns::default();
        };
        let events = flow.events.as_slice();
        let at = |ns: i64| Some(seconds(ns));
        FlowColumns {
            integers: vec![(
                "bytes",
                events
                    .iter()
                    .map(|it| Some(whole(it.bytes)).filter(|&bytes| bytes > 0))
                    .collect(),
            )],
            floats: vec![
                ("time_s", events.iter().map(|it| at(it.at_ns)).collect()),
                (
                    "lasted_s",
                    events
                        .iter()
                        .map(|it| Some(seconds(it.lasted_ns)).filter(|&lasted| lasted > 0.0))
                        .collect(),
                ),
            ],
            texts: vec![("kind", events.iter().map(|it| it.kind.name()).collect())],
        }
    }

    fn flow(&self, connection: usize, side: usize) -> Option<&Flow> {
        self.connections.get(connection)?.flows.get(side)
    }
}

/// `None`: it carried no data.
fn flow_facts(index: usize, connection: &Connection, side: usize) -> Option<FlowFacts> {
    let flow = &connection.flows[side];
    if !flow.has_data() {
        return None;
    }
    let at = seconds;
    let (sender, receiver) = (connection.ends[side], connection.ends[1 - side]);
    let [far_ns, near_ns] = connection.handshake_ns;
    let vantage = vantage(flow);
    Some(FlowFacts {
        connection: index,
        side,
        sender: sender.ip().to_string(),
        sender_port: sender.port,
        receiver: receiver.ip().to_string(),
        receiver_port: receiver.port,
        has_handshake: connection.offered.iter().all(Option::is_some),
        vantage,
        start_s: at(connection.started_ns),
        first_data_s: flow.first_data_ns.map(at),
        last_data_s: at(flow.last_data_ns),
        end_s: at(connection.last_ns),
        delivered_bytes: if vantage == Some(Vantage::Receiver) {
            flow.received_bytes()
        } else {
            flow.acknowledged_bytes()
        },
        mss_bytes: flow.full_bytes(),
        largest_payload_bytes: flow.largest_payload,
        sender_offered: connection.offered[side],
        receiver_offered: connection.offered[1 - side],
        handshake_rtt_s: far_ns.zip(near_ns).map(|(far, near)| seconds(far + near)),
        far_rtt_s: flow.far.min_ns.map(seconds),
        near_rtt_s: flow.near.min_ns.map(seconds),
        far_rtt_of_data_s: flow.far.min_of_data_ns.map(seconds),
        has_near_samples: flow.near.samples > 0,
        window_shift: flow.scale.shift(),
        is_window_shift_known: flow.scale.is_known(),
        closed: flow.fin_ns.is_some(),
        reset: connection.was_reset,
        captured_twice: connection.copies.copies,
        copies_later_s: connection.copies.mean_later_s(),
        clock_steps: connection.clock_steps.count,
        largest_clock_step_s: seconds(connection.clock_steps.largest_ns),
        late_packets: connection.clock_steps.late,
        hop_limit: flow.hop_limit,
        sample_width_s: seconds(flow.timeline.width_ns()),
        events_left_out: flow.events.left_out,
        train_rates: flow.train_rates(),
        counters: flow.counters,
    })
}

fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}
