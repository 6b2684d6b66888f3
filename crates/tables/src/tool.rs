use crate::column::table;

table! {
    /// What real programs said, whole.
    Tool in "tools" {
        /// name of the workload in the lab
        workload: &'a str,
        /// iperf3, ping, ...
        tool: &'a str,
        /// client or server, and which of the outputs
        role: &'a str,
        /// the text as it came
        output: &'a str,
    }
}
