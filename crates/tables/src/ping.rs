use crate::column::table;

table! {
    /// One row per echo request.
    Ping in "pings" {
        /// when the request was sent
        time_s: f64,
        /// name of the workload in the lab
        workload: &'a str,
        /// its sequence number, from 1
        sequence: u64,
        /// round-trip time; null: no answer came
        rtt_s: Option<f64>,
    }
}
