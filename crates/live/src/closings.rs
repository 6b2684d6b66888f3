//! What each TCP connection had carried when it was over: a line of `closed.csv` as it happens.
//!
//! The kernel tells of every socket whose memory it gives back, with its last `TCP_INFO` (`net/core/sock_diag.c`,
//! `SKNLGRP_INET_TCP_DESTROY`, as `ss --events` shows it): the whole sum of a short connection, which samples miss.
//! A socket is given back when nothing of it is left to be acknowledged, or when it enters TIME-WAIT.

use crate::clock::monotonic_ns;
use crate::per_host::HostId;
use bentpipe_wire::sock_diag::{Message, TcpSocket, messages};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{Builder, JoinHandle};

/// `SKNLGRP_INET_TCP_DESTROY` (1) and `SKNLGRP_INET6_TCP_DESTROY` (3), as bits.
const GROUPS: u32 = 1 << 0 | 1 << 2;
/// For the connections that a crowd of clients closes while this thread waits for its turn.
const BUFFER_BYTES: usize = 8 << 20;
/// How long the thread's end may be put off.
const LOOK_EVERY: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};
/// The kernel's own messages carry this number.
const UNASKED: u32 = 0;

/// The closings in the network namespace that this was opened in.
#[derive(Debug)]
pub(crate) struct Closings(OwnedFd);

impl Closings {
    pub(crate) fn open() -> rustix::io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            flags,
            Some(SOCK_DIAG),
        )?;
        // Without the right to go beyond the machine's limit a smaller buffer does for most.
        let _ = set_socket_recv_buffer_size_force(&socket, BUFFER_BYTES);
        bind(&socket, &SocketAddrNetlink::new(0, GROUPS))?;
        Ok(Self(socket))
    }

    /// Shows every socket that has been given back since the last look.
    pub(crate) fn take(
        &self,
        received: &mut [u8],
        mut see: impl FnMut(&TcpSocket<'_>),
    ) -> io::Result<()> {
        loop {
            let length = match recv(&self.0, &mut *received, RecvFlags::empty()) {
                Ok((length, _)) => length,
                Err(Errno::AGAIN) => return Ok(()),
                // Some were lost for want of room; the others are still there.
                Err(Errno::INTR | Errno::NOBUFS) => continue,
                Err(error) => return Err(error.into()),
            };
            for message in messages(&received[..length], UNASKED) {
                if let Message::Socket(socket) = message {
                    see(&socket);
                }
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct ClosingsWatch {
    /// Dropped to end the thread.
    until: Sender<()>,
    thread: JoinHandle<io::Result<()>>,
}

impl ClosingsWatch {
    pub(crate) fn start(
        hosts: Vec<(HostId, Closings)>,
        zero_monotonic_ns: i64,
        csv: &Path,
    ) -> io::Result<Self> {
        let mut out = File::create(csv)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", csv.display())))?;
        writeln!(
            out,
            "time_s,host,ip,local_port,remote_port,bytes_received,bytes_acked,retransmits"
        )?;
        let (until, stopped) = channel();
        let thread = Builder::new()
            .name("closings".into())
            .spawn(move || watch(&hosts, zero_monotonic_ns, out, &stopped))?;
        Ok(Self { until, thread })
    }

    pub(crate) fn stop(self) -> io::Result<()> {
        drop(self.until);
        self.thread
            .join()
            .map_err(|_| io::Error::other("the watch for closings ended in a panic"))?
    }
}

fn watch(
    hosts: &[(HostId, Closings)],
    zero_ns: i64,
    mut out: File,
    stopped: &Receiver<()>,
) -> io::Result<()> {
    let mut received = vec![0; 65_536];
    let mut lines = Vec::new();
    while stopped.try_recv() == Err(TryRecvError::Empty) {
        let mut fds: Vec<_> = hosts
            .iter()
            .map(|(_, closings)| PollFd::new(&closings.0, PollFlags::IN))
            .collect();
        match poll(&mut fds, Some(&LOOK_EVERY)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let time_s = (monotonic_ns() - zero_ns) as f64 / 1e9;
        for (host, closings) in hosts {
            closings.take(&mut received, |socket| {
                lines.extend(line(time_s, *host, socket).into_bytes());
            })?;
        }
        // At once, for who waits for one of them.
        out.write_all(&lines)?;
        lines.clear();
    }
    Ok(())
}

fn line(time_s: f64, host: HostId, socket: &TcpSocket<'_>) -> String {
    let info = socket.tcp_info.unwrap_or_default();
    let number = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
    format!(
        "{time_s},{},{},{},{},{},{},{}\n",
        host.name(),
        socket.ip(),
        socket.local_port,
        socket.remote_port,
        number(info.bytes_received()),
        number(info.bytes_acked()),
        number(info.total_retrans().map(u64::from)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::time::{Duration, Instant};

    #[test]
    fn a_connection_that_is_over_is_told_with_what_it_carried() {
        let closings = Closings::open().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut server = listener.accept().unwrap().0;
        server.write_all(&[7; 1234]).unwrap();
        drop(server);
        let mut carried = Vec::new();
        client.read_to_end(&mut carried).unwrap();
        drop(client);
        let (mut told, mut received) = (Vec::new(), vec![0; 65_536]);
        let begun = Instant::now();
        while told.is_empty() && begun.elapsed() < Duration::from_secs(10) {
            closings
                .take(&mut received, |socket| {
                    if socket.remote_port == port {
                        told.push(line(0.5, HostId::Client, socket));
                    }
                })
                .unwrap();
        }
        assert_eq!(told.len(), 1);
        assert!(told[0].starts_with("0.5,client,4,"), "{told:?}");
        // Its end counts as a byte.
        assert!(told[0].contains(",1235,"), "{told:?}");
    }
}
