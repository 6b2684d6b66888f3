//! The `sockets` table's CSV, of simulated sockets (python/bentpipe/results/schema.py says what the columns mean).
//! The backlog, where packets wait for a socket that is in use, is always empty: a simulated host is never busy.

use crate::spool::host_name;
use bentpipe_path::time::Nanos;
use bentpipe_sim::sink::SocketRow;
use bentpipe_spool::cell::{Cell, line};
use std::io::{self, Write};

const COLUMNS: [&str; 50] = [
    "time_s",
    "host",
    "ip",
    "local_port",
    "remote_port",
    "state",
    "congestion_control",
    "ca_state",
    "cwnd_segments",
    "ssthresh_segments",
    "mss_bytes",
    "srtt_s",
    "rttvar_s",
    "min_rtt_s",
    "rto_s",
    "backoff",
    "unacked_segments",
    "sacked_segments",
    "lost_segments",
    "retrans_segments",
    "reordering",
    "in_flight_bytes",
    "bytes_sent",
    "bytes_acked",
    "bytes_received",
    "bytes_retrans",
    "segments_out",
    "segments_in",
    "retransmits",
    "delivered",
    "delivery_rate_bit_s",
    "pacing_rate_bit_s",
    "app_limited",
    "busy_s",
    "rwnd_limited_s",
    "sndbuf_limited_s",
    "snd_wnd_bytes",
    "rcv_wnd_bytes",
    "rcv_space_bytes",
    "rcv_ssthresh_bytes",
    "rcv_ooopack",
    "notsent_bytes",
    "sndbuf_bytes",
    "rcvbuf_bytes",
    "wmem_queued_bytes",
    "rmem_alloc_bytes",
    "backlog_bytes",
    "drops",
    "total_rto",
    "rcv_rtt_s",
];

fn seconds<'a>(span: Nanos) -> Cell<'a> {
    Cell::Float(span.as_secs_f64())
}

/// A measurement that may not have been made yet: zero is no round trip.
fn measured<'a>(span: Nanos) -> Cell<'a> {
    if span == Nanos::ZERO {
        Cell::Nothing
    } else {
        seconds(span)
    }
}

pub(crate) fn header(out: &mut impl Write) -> io::Result<()> {
    line(out, COLUMNS)
}

/// The cells stand in the order of the columns.
pub(crate) fn row(out: &mut impl Write, row: &SocketRow) -> io::Result<()> {
    let s = &row.sample;
    let cells: [Cell<'_>; COLUMNS.len()] = [
        row.time.as_secs_f64().into(),
        host_name(row.host).into(),
        row.ip.into(),
        row.local_port.into(),
        row.remote_port.into(),
        s.state.into(),
        s.congestion_control.into(),
        s.ca_state.into(),
        s.cwnd_segments.into(),
        s.ssthresh_segments.into(),
        s.mss_bytes.into(),
        measured(s.srtt),
        measured(s.rttvar),
        s.min_rtt.map_or(Cell::Nothing, seconds),
        seconds(s.rto),
        s.backoff.into(),
        s.unacked_segments.into(),
        s.sacked_segments.into(),
        s.lost_segments.into(),
        s.retrans_segments.into(),
        s.reordering.into(),
        s.in_flight_bytes.into(),
        s.bytes_sent.into(),
        s.bytes_acked.into(),
        s.bytes_received.into(),
        s.bytes_retrans.into(),
        s.segments_out.into(),
        s.segments_in.into(),
        s.retransmits.into(),
        s.delivered.into(),
        Cell::Float(s.delivery_rate_bit_s as f64),
        s.pacing_rate_bit_s
            .map_or(Cell::Nothing, |rate| Cell::Float(rate as f64)),
        s.app_limited.into(),
        seconds(s.busy),
        seconds(s.rwnd_limited),
        seconds(s.sndbuf_limited),
        s.snd_wnd_bytes.into(),
        s.rcv_wnd_bytes.into(),
        s.rcv_space_bytes.into(),
        s.rcv_ssthresh_bytes.into(),
        s.rcv_ooopack.into(),
        s.notsent_bytes.into(),
        s.sndbuf_bytes.into(),
        s.rcvbuf_bytes.into(),
        s.wmem_queued_bytes.into(),
        s.rmem_alloc_bytes.into(),
        Cell::Integer(0),
        s.drops.into(),
        s.total_rto.into(),
        measured(s.rcv_rtt),
    ];
    line(out, cells)
}
