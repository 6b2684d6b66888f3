//! The `sockets` table's spool file (python/bentpipe/results/schema.py says what the columns mean). Whose a socket is
//! is not known here: `workload`, `flow` and `role` are added later (`python/bentpipe/engines/socket_owners.py`), for
//! which `server` has the number of the server beyond the far end that is one of the socket's ends.

use crate::protocol::Host;
use crate::sock_diag::TcpSocket;
use std::fmt::{self, Display};
use std::io::{self, Write};

/// A value, or nothing where it is not known.
#[derive(Clone, Copy)]
enum Cell<'a> {
    Nothing,
    Text(&'a str),
    Integer(i128),
    Float(f64),
    Flag(bool),
}

impl Display for Cell<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => Ok(()),
            Self::Text(text) => out.write_str(text),
            Self::Integer(number) => number.fmt(out),
            Self::Float(number) => number.fmt(out),
            Self::Flag(flag) => flag.fmt(out),
        }
    }
}

fn cell<'a, T>(value: Option<T>, kind: impl FnOnce(T) -> Cell<'a>) -> Cell<'a> {
    value.map_or(Cell::Nothing, kind)
}

fn text(value: Option<&str>) -> Cell<'_> {
    cell(value, Cell::Text)
}

fn integer<'a, T: Into<i128>>(value: Option<T>) -> Cell<'a> {
    cell(value, |value| Cell::Integer(value.into()))
}

fn float<'a>(value: Option<f64>) -> Cell<'a> {
    cell(value, Cell::Float)
}

fn seconds<'a>(micros: Option<u64>) -> Cell<'a> {
    cell(micros, |micros| Cell::Float(micros as f64 / 1e6))
}

/// Every column by name with a socket's value: the header and the rows are both made of this.
fn cells<'a>(time_s: f64, host: Host, socket: &TcpSocket<'a>) -> [(&'static str, Cell<'a>); 51] {
    let info = socket.tcp_info.unwrap_or_default();
    let memory = socket.memory.unwrap_or_default();
    [
        ("time_s", Cell::Float(time_s)),
        ("host", Cell::Text(host.name())),
        ("ip", integer(Some(socket.ip))),
        ("local_port", integer(Some(socket.local_port))),
        ("remote_port", integer(Some(socket.remote_port))),
        ("state", Cell::Text(socket.state)),
        ("congestion_control", text(socket.congestion_control)),
        ("ca_state", text(info.ca_state())),
        ("cwnd_segments", integer(info.snd_cwnd())),
        ("ssthresh_segments", integer(info.ssthresh())),
        ("mss_bytes", integer(info.snd_mss())),
        ("srtt_s", float(info.srtt_s())),
        ("rttvar_s", float(info.rttvar_s())),
        ("min_rtt_s", float(info.min_rtt_s())),
        ("rto_s", float(info.rto_s())),
        ("backoff", integer(info.backoff())),
        ("unacked_segments", integer(info.unacked())),
        ("sacked_segments", integer(info.sacked())),
        ("lost_segments", integer(info.lost())),
        ("retrans_segments", integer(info.retrans())),
        ("reordering", integer(info.reordering())),
        ("in_flight_bytes", integer(info.in_flight_bytes())),
        ("bytes_sent", integer(info.bytes_sent())),
        ("bytes_acked", integer(info.bytes_acked())),
        ("bytes_received", integer(info.bytes_received())),
        ("bytes_retrans", integer(info.bytes_retrans())),
        ("segments_out", integer(info.segs_out())),
        ("segments_in", integer(info.segs_in())),
        ("retransmits", integer(info.total_retrans())),
        ("delivered", integer(info.delivered())),
        ("delivery_rate_bit_s", float(info.delivery_rate_bit_s())),
        ("pacing_rate_bit_s", float(info.pacing_rate_bit_s())),
        ("app_limited", cell(info.app_limited(), Cell::Flag)),
        ("busy_s", seconds(info.busy_time_us())),
        ("rwnd_limited_s", seconds(info.rwnd_limited_us())),
        ("sndbuf_limited_s", seconds(info.sndbuf_limited_us())),
        ("snd_wnd_bytes", integer(info.snd_wnd())),
        ("rcv_wnd_bytes", integer(info.rcv_wnd())),
        ("rcv_space_bytes", integer(info.rcv_space())),
        ("rcv_ssthresh_bytes", integer(info.rcv_ssthresh())),
        ("rcv_ooopack", integer(info.rcv_ooopack())),
        ("notsent_bytes", integer(info.notsent_bytes())),
        ("sndbuf_bytes", integer(memory.sndbuf())),
        ("rcvbuf_bytes", integer(memory.rcvbuf())),
        ("wmem_queued_bytes", integer(memory.wmem_queued())),
        ("rmem_alloc_bytes", integer(memory.rmem_alloc())),
        ("backlog_bytes", integer(memory.backlog())),
        ("drops", integer(memory.drops())),
        ("total_rto", integer(info.total_rto())),
        ("rcv_rtt_s", float(info.rcv_rtt_s())),
        ("server", integer(socket.server)),
    ]
}

pub(crate) fn header(out: &mut impl Write) -> io::Result<()> {
    let columns = cells(0.0, Host::Client, &TcpSocket::default());
    line(out, columns.iter().map(|(name, _)| name))
}

pub(crate) fn row(
    out: &mut impl Write,
    time_s: f64,
    host: Host,
    socket: &TcpSocket<'_>,
) -> io::Result<()> {
    line(
        out,
        cells(time_s, host, socket).iter().map(|(_, value)| value),
    )
}

fn line<T: Display>(out: &mut impl Write, mut values: impl Iterator<Item = T>) -> io::Result<()> {
    if let Some(first) = values.next() {
        write!(out, "{first}")?;
    }
    for value in values {
        write!(out, ",{value}")?;
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp_info::TcpInfo;

    fn written(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_the_kernel_does_not_give_is_an_empty_cell() {
        let socket = TcpSocket {
            ip: 6,
            state: "SYN-SENT",
            local_port: 1,
            remote_port: 2,
            tcp_info: Some(TcpInfo(&[0; 104])),
            ..TcpSocket::default()
        };
        let row = written(|out| row(out, -0.5, Host::Server, &socket));
        assert!(
            row.starts_with("-0.5,server,6,1,2,SYN-SENT,,open,0,0,0,,,,0,0,"),
            "{row}"
        );
        assert!(row.ends_with(",,,,\n"), "{row}");
    }

    #[test]
    fn a_row_has_a_value_for_each_column() {
        let header = written(header);
        let row = written(|out| row(out, 0.0, Host::Client, &TcpSocket::default()));
        assert_eq!(header.split(',').count(), row.split(',').count());
        assert!(header.starts_with("time_s,host,ip,local_port,"));
    }
}
