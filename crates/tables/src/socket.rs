use crate::column::table;

table! {
    /// `TCP_INFO` and `SKMEMINFO` of both ends' sockets, sampled. A sender's fields mean little on a receiver. The rows
    /// of an instant are in no particular order.
    Socket in "sockets" {
        /// when the sample was taken
        time_s: f64,
        /// `client`, `near` or `server`: whose socket it is
        host: &'a str,
        /// workload that the connection belongs to; null: not known
        workload: Option<&'a str>,
        /// number in `flows`; of several flows on one connection the latest; null: none, or not known
        flow: Option<u64>,
        /// `data`: carries a workload's payload; `control`: iperf3's own messages; `upstream`: between the cache at near
        /// and the server; null: not known
        role: Option<&'a str>,
        /// 4 or 6
        ip: u64,
        /// the port at this host
        local_port: u64,
        /// the port at the other host
        remote_port: u64,
        /// TCP state, as `ss` names it
        state: &'a str,
        /// the socket's congestion control
        congestion_control: Option<&'a str>,
        /// open, disorder, cwr, recovery or loss
        ca_state: Option<&'a str>,
        /// congestion window
        cwnd_segments: Option<u64>,
        /// slow start threshold; null: still infinite
        ssthresh_segments: Option<u64>,
        /// sending maximum segment size
        mss_bytes: Option<u64>,
        /// smoothed round-trip time
        srtt_s: Option<f64>,
        /// its mean deviation
        rttvar_s: Option<f64>,
        /// lowest round-trip time of the kernel's window
        min_rtt_s: Option<f64>,
        /// retransmission timeout
        rto_s: Option<f64>,
        /// how often the timeout has been doubled
        backoff: Option<u64>,
        /// sent and not acknowledged
        unacked_segments: Option<u64>,
        /// of these, selectively acknowledged
        sacked_segments: Option<u64>,
        /// of these, taken for lost
        lost_segments: Option<u64>,
        /// retransmitted and now out
        retrans_segments: Option<u64>,
        /// reordering degree that the sender assumes, in segments
        reordering: Option<u64>,
        /// (unacked - sacked - lost + retrans) x mss
        in_flight_bytes: Option<i64>,
        /// payload sent so far, retransmissions too
        bytes_sent: Option<u64>,
        /// payload acknowledged so far
        bytes_acked: Option<u64>,
        /// payload received so far, in order
        bytes_received: Option<u64>,
        /// payload retransmitted so far
        bytes_retrans: Option<u64>,
        /// segments sent so far
        segments_out: Option<u64>,
        /// segments received so far
        segments_in: Option<u64>,
        /// segments retransmitted so far
        retransmits: Option<u64>,
        /// segments delivered so far, as the sender knows
        delivered: Option<u64>,
        /// the kernel's latest delivery rate
        delivery_rate_bit_s: Option<f64>,
        /// pacing rate; null: not limited
        pacing_rate_bit_s: Option<f64>,
        /// the delivery rate was limited by the application
        app_limited: Option<bool>,
        /// time with data in flight or to send
        busy_s: Option<f64>,
        /// of it, limited by the receive window
        rwnd_limited_s: Option<f64>,
        /// of it, limited by the send buffer
        sndbuf_limited_s: Option<f64>,
        /// window that the peer advertises
        snd_wnd_bytes: Option<u64>,
        /// window that this end advertises
        rcv_wnd_bytes: Option<u64>,
        /// receive autotuning's measure of one round trip's data
        rcv_space_bytes: Option<u64>,
        /// bound on the advertised window
        rcv_ssthresh_bytes: Option<u64>,
        /// segments received out of order so far
        rcv_ooopack: Option<u64>,
        /// in the send buffer, not yet sent
        notsent_bytes: Option<u64>,
        /// size of the send buffer
        sndbuf_bytes: Option<u64>,
        /// size of the receive buffer
        rcvbuf_bytes: Option<u64>,
        /// memory that the send queue holds
        wmem_queued_bytes: Option<u64>,
        /// memory that the receive queue holds
        rmem_alloc_bytes: Option<u64>,
        /// memory that the socket's backlog holds
        backlog_bytes: Option<u64>,
        /// packets that the socket dropped so far
        drops: Option<u64>,
        /// retransmission timeouts so far
        total_rto: Option<u64>,
        /// receiver's estimate of the round-trip time
        rcv_rtt_s: Option<f64>,
    }
}
