//! The `sockets` table as CSV (`bentpipe_tables::Socket`). Whose a socket is
//! is not known here: `workload`, `flow` and `role` are added later (`python/bentpipe/engines/socket_owners.py`), for
//! which `server` has the number of the server beyond the far end that is one of the socket's ends.

use crate::per_host::HostId;
use crate::sock_diag::server_of;
use bentpipe_tables::{Cell, Socket, csv};
use bentpipe_wire::sock_diag::TcpSocket;
use std::io::{self, Write};

/// Columns that are added later.
const OWNER: [&str; 3] = ["workload", "flow", "role"];

fn seconds(micros: Option<u64>) -> Option<f64> {
    micros.map(|micros| micros as f64 / 1e6)
}

pub(crate) fn sampled<'a>(time_s: f64, host: HostId, socket: &TcpSocket<'a>) -> Socket<'a> {
    let info = socket.tcp_info.unwrap_or_default();
    let memory = socket.memory.unwrap_or_default();
    Socket {
        time_s,
        host: host.name(),
        workload: None,
        flow: None,
        role: None,
        ip: socket.ip().into(),
        local_port: socket.local_port.into(),
        remote_port: socket.remote_port.into(),
        state: socket.state,
        congestion_control: socket.congestion_control,
        ca_state: info.ca_state(),
        cwnd_segments: info.snd_cwnd().map(u64::from),
        ssthresh_segments: info.ssthresh().map(u64::from),
        mss_bytes: info.snd_mss().map(u64::from),
        srtt_s: info.srtt_s(),
        rttvar_s: info.rttvar_s(),
        min_rtt_s: info.min_rtt_s(),
        rto_s: info.rto_s(),
        backoff: info.backoff().map(u64::from),
        unacked_segments: info.unacked().map(u64::from),
        sacked_segments: info.sacked().map(u64::from),
        lost_segments: info.lost().map(u64::from),
        retrans_segments: info.retrans().map(u64::from),
        reordering: info.reordering().map(u64::from),
        in_flight_bytes: info.in_flight_bytes(),
        bytes_sent: info.bytes_sent(),
        bytes_acked: info.bytes_acked(),
        bytes_received: info.bytes_received(),
        bytes_retrans: info.bytes_retrans(),
        segments_out: info.segs_out().map(u64::from),
        segments_in: info.segs_in().map(u64::from),
        retransmits: info.total_retrans().map(u64::from),
        delivered: info.delivered().map(u64::from),
        delivery_rate_bit_s: info.delivery_rate_bit_s(),
        pacing_rate_bit_s: info.pacing_rate_bit_s(),
        app_limited: info.app_limited(),
        busy_s: seconds(info.busy_time_us()),
        rwnd_limited_s: seconds(info.rwnd_limited_us()),
        sndbuf_limited_s: seconds(info.sndbuf_limited_us()),
        snd_wnd_bytes: info.snd_wnd().map(u64::from),
        rcv_wnd_bytes: info.rcv_wnd().map(u64::from),
        rcv_space_bytes: info.rcv_space().map(u64::from),
        rcv_ssthresh_bytes: info.rcv_ssthresh().map(u64::from),
        rcv_ooopack: info.rcv_ooopack().map(u64::from),
        notsent_bytes: info.notsent_bytes().map(u64::from),
        sndbuf_bytes: memory.sndbuf().map(u64::from),
        rcvbuf_bytes: memory.rcvbuf().map(u64::from),
        wmem_queued_bytes: memory.wmem_queued().map(u64::from),
        rmem_alloc_bytes: memory.rmem_alloc().map(u64::from),
        backlog_bytes: memory.backlog().map(u64::from),
        drops: memory.drops().map(u64::from),
        total_rto: info.total_rto().map(u64::from),
        rcv_rtt_s: info.rcv_rtt_s(),
    }
}

/// Whether the cells of each column are written.
fn is_sampled(name: &str) -> bool {
    !OWNER.contains(&name)
}

pub(crate) fn header(out: &mut impl Write) -> io::Result<()> {
    let names = Socket::COLUMNS.map(|column| column.name).into_iter();
    csv::line(out, names.filter(|name| is_sampled(name)).chain(["server"]))
}

pub(crate) fn row(
    out: &mut impl Write,
    time_s: f64,
    host: HostId,
    socket: &TcpSocket<'_>,
) -> io::Result<()> {
    let cells = Socket::COLUMNS
        .iter()
        .zip(sampled(time_s, host, socket).cells());
    let cells = cells.filter(|(column, _)| is_sampled(column.name));
    let server = Cell::from(server_of(socket).map(u64::from));
    csv::line(out, cells.map(|(_, cell)| cell).chain([server]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_wire::tcp_info::TcpInfo;
    use std::net::Ipv6Addr;

    fn written(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_the_kernel_does_not_give_is_an_empty_cell() {
        let socket = TcpSocket {
            local: Ipv6Addr::LOCALHOST.into(),
            state: "SYN-SENT",
            local_port: 1,
            remote_port: 2,
            tcp_info: Some(TcpInfo(&[0; 104])),
            ..TcpSocket::default()
        };
        let row = written(|out| row(out, -0.5, HostId::Server, &socket));
        assert!(
            row.starts_with("-0.5,server,6,1,2,SYN-SENT,,open,0,0,0,,,,0,0,"),
            "{row}"
        );
        assert!(row.ends_with(",,,,\n"), "{row}");
    }

    #[test]
    fn a_row_has_a_value_for_each_column() {
        let header = written(header);
        let row = written(|out| row(out, 0.0, HostId::Client, &TcpSocket::default()));
        assert_eq!(header.split(',').count(), row.split(',').count());
        assert!(header.starts_with("time_s,host,ip,local_port,"));
    }
}
