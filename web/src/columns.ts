// The columns that the charts are drawn from.

export const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  link: ["time_s", "pipe", "throughput_bytes", "goodput_bytes", "queue_bytes_mean", "queue_bytes_max", "queue_delay_s_mean",
    "drops_tail", "drops_aqm", "drops_policer", "drops_ingress", "drops_line", "drops_channel", "drops_outage"],
  sockets: ["time_s", "host", "workload", "role", "local_port", "remote_port", "cwnd_segments", "mss_bytes", "in_flight_bytes", "snd_wnd_bytes", "srtt_s",
    "retransmits"],
  pings: ["time_s", "rtt_s"],
  flows: ["workload", "size_bytes", "start_s", "end_s"],
};
