use crate::column::table;

table! {
    /// One row per TCP connection that carried a workload's payload.
    Flow in "flows" {
        /// number within the run
        flow: u64,
        /// name of the workload in the lab
        workload: &'a str,
        /// host that opened the connection; `client-3`: the third of its channels
        client: &'a str,
        /// host that it was opened to; `server-7`: the seventh beyond the far end
        server: &'a str,
        /// `down`: the server sent; `up`: the client sent
        direction: &'a str,
        /// 4 or 6
        ip: u64,
        /// the client's port
        local_port: u64,
        /// the server's port
        remote_port: u64,
        /// payload that was to be carried; null: as much as fits the time
        size_bytes: Option<u64>,
        /// when the connection was begun, or a request on one that was kept
        start_s: f64,
        /// when the client was connected; null: it was before, or not known
        connected_s: Option<f64>,
        /// when the first payload byte arrived; null: not known (iperf3 does not say)
        first_byte_s: Option<f64>,
        /// when the last payload byte arrived; null: it did not finish
        end_s: Option<f64>,
        /// payload carried
        bytes: u64,
        /// payload over measured time
        goodput_bit_s: Option<f64>,
        /// segments retransmitted; null: not known
        retransmits: Option<u64>,
        /// finished, unfinished or failed
        outcome: &'a str,
        /// what went wrong; null: nothing
        why: Option<&'a str>,
        /// which of a set was asked for, from 1, the most popular; null: no set
        object: Option<u64>,
        /// `hit`: the cache at near had it; `miss`: it did not; null: no cache
        cache: Option<&'a str>,
    }
}
