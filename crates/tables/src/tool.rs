use crate::column::table;

table! {
    /// What real programs said. Of an `exec` at most 64 MiB of each stream is kept, with a note of what was left out.
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
