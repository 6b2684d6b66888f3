use crate::column::table;
use bentpipe_path::{Bin, DropCause};

table! {
    /// What each pipe did, bin by bin. Counted at every packet, not sampled.
    Link in "link" {
        /// start of the bin; bins are 100 ms unless run.json says otherwise
        time_s: f64,
        /// `down` (server to client) or `up`
        pipe: &'a str,
        /// IP bytes that arrived at the pipe's entrance
        offered_bytes: u64,
        /// IP bytes that left the pipe
        throughput_bytes: u64,
        /// TCP payload that left the pipe for the first time
        goodput_bytes: u64,
        /// packets that arrived at the pipe's entrance
        offered_packets: u64,
        /// packets that left the pipe
        throughput_packets: u64,
        /// bytes waiting in the queue, mean over the bin's time
        queue_bytes_mean: f64,
        /// most bytes that waited at any instant of the bin
        queue_bytes_max: u64,
        /// bytes waiting at the bin's end
        queue_bytes_end: u64,
        /// mean wait of the packets that left the queue; null: none left
        queue_delay_s_mean: Option<f64>,
        /// longest wait of them; null: none left
        queue_delay_s_max: Option<f64>,
        /// packets that found the queue full
        drops_tail: u64,
        /// packets dropped by the queue discipline
        drops_aqm: u64,
        /// packets that did not conform to the policer
        drops_policer: u64,
        /// packets lost before the queue
        drops_ingress: u64,
        /// packets that found the delay line full
        drops_line: u64,
        /// packets lost by the channel
        drops_channel: u64,
        /// packets lost to an outage
        drops_outage: u64,
        /// packets marked (ECN) instead of dropped
        marks: u64,
        /// packets that the channel delivered a second time
        duplicates: u64,
        /// packets that the channel delivered with a flipped bit
        corrupted: u64,
    }
}

impl<'a> Link<'a> {
    /// A bin of the pipe of this name.
    pub fn new(pipe: &'a str, bin: &Bin) -> Self {
        Self {
            time_s: bin.start.as_secs_f64(),
            pipe,
            offered_bytes: bin.offered_bytes,
            throughput_bytes: bin.throughput_bytes,
            goodput_bytes: bin.goodput_bytes,
            offered_packets: bin.offered_packets,
            throughput_packets: bin.throughput_packets,
            queue_bytes_mean: bin.queue_bytes_mean,
            queue_bytes_max: bin.queue_bytes_max,
            queue_bytes_end: bin.queue_bytes_end,
            queue_delay_s_mean: bin.queue_delay_s_mean,
            queue_delay_s_max: bin.queue_delay_s_max,
            drops_tail: bin.drops_by(DropCause::Tail),
            drops_aqm: bin.drops_by(DropCause::Aqm),
            drops_policer: bin.drops_by(DropCause::Policer),
            drops_ingress: bin.drops_by(DropCause::Ingress),
            drops_line: bin.drops_by(DropCause::Line),
            drops_channel: bin.drops_by(DropCause::Channel),
            drops_outage: bin.drops_by(DropCause::Outage),
            marks: bin.marks,
            duplicates: bin.duplicates,
            corrupted: bin.corrupted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv;
    use bentpipe_path::Time;

    #[test]
    fn a_row_has_a_value_for_each_column_and_none_for_what_is_not_known() {
        let bin = Bin {
            start: Time(-100_000_000),
            offered_bytes: 1500,
            marks: 7,
            ..Bin::default()
        };
        let mut out = Vec::new();
        csv::line(&mut out, Link::new("down", &bin).cells()).expect("a Vec takes all");
        assert_eq!(out, b"-0.1,down,1500,0,0,0,0,0,0,0,,,0,0,0,0,0,0,0,7,0,0\n");
    }

    #[test]
    fn each_cause_of_drops_has_a_column() {
        let causes = Link::COLUMNS.map(|column| column.name.strip_prefix("drops_"));
        assert!(
            causes
                .into_iter()
                .flatten()
                .eq(DropCause::ALL.map(DropCause::name))
        );
    }
}
