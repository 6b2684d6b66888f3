use crate::column::table;

table! {
    /// One row per echo request of `ping`, and per message of `interactive`.
    Ping in "pings" {
        /// when the request was sent, or the message written
        time_s: f64,
        /// name of the workload in the lab
        workload: &'a str,
        /// its sequence number, from 1
        sequence: u64,
        /// round-trip time, of a message to the last byte of its answer; null: no answer came
        rtt_s: Option<f64>,
    }
}
