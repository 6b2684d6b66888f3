//! The `sockets` table, of simulated sockets (python/bentpipe/results/schema.py says what the columns mean).
//! The backlog, where packets wait for a socket that is in use, is always empty: a simulated host is never busy.

use crate::table::Table;
use bentpipe_path::time::Nanos;
use bentpipe_sim::sink::{Role, SocketRow};
use bentpipe_spool::cell::{Cell, Column};
use std::io::{self, Write};

pub(crate) const COLUMNS: [Column; 53] = [
    Column::float("time_s"),
    Column::text("host"),
    Column::text("workload"),
    Column::integer("flow"),
    Column::text("role"),
    Column::integer("ip"),
    Column::integer("local_port"),
    Column::integer("remote_port"),
    Column::text("state"),
    Column::text("congestion_control"),
    Column::text("ca_state"),
    Column::integer("cwnd_segments"),
    Column::integer("ssthresh_segments"),
    Column::integer("mss_bytes"),
    Column::float("srtt_s"),
    Column::float("rttvar_s"),
    Column::float("min_rtt_s"),
    Column::float("rto_s"),
    Column::integer("backoff"),
    Column::integer("unacked_segments"),
    Column::integer("sacked_segments"),
    Column::integer("lost_segments"),
    Column::integer("retrans_segments"),
    Column::integer("reordering"),
    Column::integer("in_flight_bytes"),
    Column::integer("bytes_sent"),
    Column::integer("bytes_acked"),
    Column::integer("bytes_received"),
    Column::integer("bytes_retrans"),
    Column::integer("segments_out"),
    Column::integer("segments_in"),
    Column::integer("retransmits"),
    Column::integer("delivered"),
    Column::float("delivery_rate_bit_s"),
    Column::float("pacing_rate_bit_s"),
    Column::flag("app_limited"),
    Column::float("busy_s"),
    Column::float("rwnd_limited_s"),
    Column::float("sndbuf_limited_s"),
    Column::integer("snd_wnd_bytes"),
    Column::integer("rcv_wnd_bytes"),
    Column::integer("rcv_space_bytes"),
    Column::integer("rcv_ssthresh_bytes"),
    Column::integer("rcv_ooopack"),
    Column::integer("notsent_bytes"),
    Column::integer("sndbuf_bytes"),
    Column::integer("rcvbuf_bytes"),
    Column::integer("wmem_queued_bytes"),
    Column::integer("rmem_alloc_bytes"),
    Column::integer("backlog_bytes"),
    Column::integer("drops"),
    Column::integer("total_rto"),
    Column::float("rcv_rtt_s"),
];

fn role(role: Role) -> &'static str {
    match role {
        Role::Data => "data",
        Role::Control => "control",
        Role::Upstream => "upstream",
    }
}

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

/// The cells stand in the order of the columns.
pub(crate) fn row(
    out: &mut Table<impl Write + Send>,
    workload: &str,
    row: &SocketRow,
) -> io::Result<()> {
    let s = &row.sample;
    let cells: [Cell<'_>; COLUMNS.len()] = [
        row.time.as_secs_f64().into(),
        row.host.name().into(),
        workload.into(),
        row.flow.map(|flow| flow + 1).into(),
        role(row.role).into(),
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
    out.row(&cells)
}
