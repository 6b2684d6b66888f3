//! A row of the `sockets` table. The backlog, where packets wait for a socket that is in use, is always empty: a simulated host
//! is never busy.

use crate::rows::{Role, SocketRow};
use bentpipe_path::time::Nanos;
use bentpipe_tables::Socket;

fn role(role: Role) -> &'static str {
    match role {
        Role::Data => "data",
        Role::Control => "control",
        Role::Upstream => "upstream",
    }
}

/// A measurement that may not have been made yet: zero means none.
fn measured(span: Nanos) -> Option<f64> {
    (span != Nanos::ZERO).then(|| span.as_secs_f64())
}

#[inline]
pub(super) fn row<'a>(workload: &'a str, row: &SocketRow) -> Socket<'a> {
    let s = &row.sample;
    Socket {
        time_s: row.time.as_secs_f64(),
        host: row.host.name(),
        workload: Some(workload),
        flow: row.flow.map(|flow| flow + 1),
        role: Some(role(row.role)),
        ip: row.ip.into(),
        local_port: row.local_port.into(),
        remote_port: row.remote_port.into(),
        state: s.state,
        congestion_control: Some(s.congestion_control),
        ca_state: Some(s.ca_state),
        cwnd_segments: Some(s.cwnd_segments.into()),
        ssthresh_segments: s.ssthresh_segments.map(u64::from),
        mss_bytes: Some(s.mss_bytes.into()),
        srtt_s: measured(s.srtt),
        rttvar_s: measured(s.rttvar),
        min_rtt_s: s.min_rtt.map(Nanos::as_secs_f64),
        rto_s: Some(s.rto.as_secs_f64()),
        backoff: Some(s.backoff.into()),
        unacked_segments: Some(s.unacked_segments.into()),
        sacked_segments: Some(s.sacked_segments.into()),
        lost_segments: Some(s.lost_segments.into()),
        retrans_segments: Some(s.retrans_segments.into()),
        reordering: Some(s.reordering.into()),
        in_flight_bytes: Some(s.in_flight_bytes as i64),
        bytes_sent: Some(s.bytes_sent),
        bytes_acked: Some(s.bytes_acked),
        bytes_received: Some(s.bytes_received),
        bytes_retrans: Some(s.bytes_retrans),
        segments_out: Some(s.segments_out),
        segments_in: Some(s.segments_in),
        retransmits: Some(s.retransmits),
        delivered: Some(s.delivered),
        delivery_rate_bit_s: Some(s.delivery_rate_bit_s as f64),
        pacing_rate_bit_s: s.pacing_rate_bit_s.map(|rate| rate as f64),
        app_limited: Some(s.app_limited),
        busy_s: Some(s.busy.as_secs_f64()),
        rwnd_limited_s: Some(s.rwnd_limited.as_secs_f64()),
        sndbuf_limited_s: Some(s.sndbuf_limited.as_secs_f64()),
        snd_wnd_bytes: Some(s.snd_wnd_bytes),
        rcv_wnd_bytes: Some(s.rcv_wnd_bytes),
        rcv_space_bytes: Some(s.rcv_space_bytes),
        rcv_ssthresh_bytes: Some(s.rcv_ssthresh_bytes),
        rcv_ooopack: Some(s.rcv_ooopack),
        notsent_bytes: Some(s.notsent_bytes),
        sndbuf_bytes: Some(s.sndbuf_bytes),
        rcvbuf_bytes: Some(s.rcvbuf_bytes),
        wmem_queued_bytes: Some(s.wmem_queued_bytes),
        rmem_alloc_bytes: Some(s.rmem_alloc_bytes),
        backlog_bytes: Some(0),
        drops: Some(s.drops),
        total_rto: Some(s.total_rto),
        rcv_rtt_s: measured(s.rcv_rtt),
    }
}
