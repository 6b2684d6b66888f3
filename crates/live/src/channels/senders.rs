//! The servers' side: every server listens at its own address, and one thread sends every flow.
//!
//! A flow is written as far as the kernel takes it, then the sending side is shut; the socket is kept until the client
//! has closed too, when the kernel's count of what it sent again is final, and TIME-WAIT is the kernel's own.

use super::ledger::{self, Ledger, Number};
use super::setup::{ChannelsSetup, Place};
use super::tcp::{self, Bell};
use crate::servers;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{
    RecvFlags, SendFlags, Shutdown, SocketFlags, acceptfrom_with, recv, send, shutdown,
};
use std::fs::File;
use std::io::{self, BufWriter};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

const EVENTS: usize = 256;
/// Handed to the kernel by one call.
static ZEROS: [u8; 1 << 18] = [0; 1 << 18];

#[derive(Debug)]
struct Connection {
    socket: OwnedFd,
    number: Number,
    left_bytes: u64,
    /// The last byte is written, and no other may follow.
    shut: bool,
}

/// A connection whose client has not said its port yet.
#[derive(Debug)]
struct Visitor {
    socket: OwnedFd,
    server: u32,
    port: [u8; 2],
    read: usize,
}

#[derive(Debug)]
enum Accepted {
    Visitor(Visitor),
    Client(Connection),
}

#[derive(Debug)]
pub(super) struct Senders {
    clients_say_ports: bool,
    ledger: Arc<Mutex<Ledger<BufWriter<File>>>>,
    epoll: OwnedFd,
    /// By the server's number within the workload.
    listeners: Vec<OwnedFd>,
    connections: Vec<Option<Accepted>>,
    unused: Vec<usize>,
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Going,
    Over,
}

impl Senders {
    /// Listens in the calling thread's network namespace.
    pub fn listen(
        setup: &ChannelsSetup,
        place: Place,
        ledger: Arc<Mutex<Ledger<BufWriter<File>>>>,
    ) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let mut listeners = Vec::new();
        for server in 0..setup.servers {
            let address = servers::address(place.first_server + server, setup.ip);
            let listener = tcp::listener(address)?;
            let from = EventData::new_u64(u64::from(server));
            epoll::add(&epoll, &listener, from, EventFlags::IN)?;
            listeners.push(listener);
        }
        Ok(Self {
            clients_say_ports: setup.client_says_port,
            ledger,
            epoll,
            listeners,
            connections: Vec::new(),
            unused: Vec::new(),
        })
    }

    /// Until the bell rings.
    pub fn run(mut self, over: &Bell) -> io::Result<()> {
        epoll::add(
            &self.epoll,
            over,
            EventData::new_u64(u64::MAX),
            EventFlags::IN,
        )?;
        let mut events = Vec::with_capacity(EVENTS);
        loop {
            match epoll::wait(
                &self.epoll,
                rustix::buffer::spare_capacity(&mut events),
                None,
            ) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for Event { data, flags } in events.drain(..) {
                match data.u64() {
                    u64::MAX => {
                        self.leave();
                        return Ok(());
                    }
                    server if server < self.listeners.len() as u64 => self.accept(server as u32)?,
                    at => self.happened(at as usize - self.listeners.len(), flags),
                }
            }
        }
    }

    /// The run has ended: says of every flow under way what the kernel counted.
    fn leave(&mut self) {
        for at in 0..self.connections.len() {
            self.close(at);
        }
    }

    fn accept(&mut self, server: u32) -> io::Result<()> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        loop {
            let (socket, from) = match acceptfrom_with(&self.listeners[server as usize], flags) {
                Ok(accepted) => accepted,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR | Errno::CONNABORTED) => continue,
                Err(error) => return Err(error.into()),
            };
            if self.clients_say_ports {
                let at = self.watch(&socket)?;
                self.connections[at] = Some(Accepted::Visitor(Visitor {
                    socket,
                    server,
                    port: [0; 2],
                    read: 0,
                }));
                continue;
            }
            let port = from
                .and_then(|from| SocketAddr::try_from(from).ok())
                .map(|from| from.port());
            // Somebody else's connection is closed at once.
            if let Some((number, left_bytes)) = port.and_then(|port| self.expected(server, port)) {
                let at = self.watch(&socket)?;
                self.serve(
                    at,
                    Connection {
                        socket,
                        number,
                        left_bytes,
                        shut: false,
                    },
                );
            }
        }
    }

    fn expected(&self, server: u32, port: u16) -> Option<(Number, u64)> {
        ledger::lock(&self.ledger).accepted(server, port)
    }

    /// Gives a connection its place, to which its events come.
    fn watch(&mut self, socket: &OwnedFd) -> io::Result<usize> {
        let at = self.unused.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        let from = EventData::new_u64((self.listeners.len() + at) as u64);
        let mut wanted = EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        wanted.set(EventFlags::IN, self.clients_say_ports);
        epoll::add(&self.epoll, socket, from, wanted)?;
        Ok(at)
    }

    fn serve(&mut self, at: usize, mut connection: Connection) {
        let progress = connection.write();
        self.connections[at] = Some(Accepted::Client(connection));
        if progress == Progress::Over {
            self.close(at);
        }
    }

    /// Serves a visitor that has said whose connection it is, and closes it if nobody expects that one.
    fn meet(&mut self, at: usize) {
        let Some(Some(Accepted::Visitor(visitor))) = self.connections.get_mut(at) else {
            return;
        };
        let known = match visitor.read_port() {
            Ok(None) => return,
            Ok(Some(port)) => {
                let server = visitor.server;
                self.expected(server, port)
            }
            Err(_) => None,
        };
        match (self.connections[at].take(), known) {
            (Some(Accepted::Visitor(visitor)), Some((number, left_bytes))) => self.serve(
                at,
                Connection {
                    socket: visitor.socket,
                    number,
                    left_bytes,
                    shut: false,
                },
            ),
            _ => self.unused.push(at),
        }
    }

    fn happened(&mut self, at: usize, flags: EventFlags) {
        let over = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        let progress = match self.connections.get_mut(at) {
            Some(Some(_)) if flags.intersects(over) => Progress::Over,
            Some(Some(Accepted::Client(connection))) => connection.write(),
            Some(Some(Accepted::Visitor(_))) => return self.meet(at),
            _ => return,
        };
        if progress == Progress::Over {
            self.close(at);
        }
    }

    fn close(&mut self, at: usize) {
        let Some(accepted) = self.connections[at].take() else {
            return;
        };
        if let Accepted::Client(connection) = accepted {
            let retransmits = tcp::retransmits(&connection.socket);
            ledger::lock(&self.ledger).sent(connection.number, retransmits);
        }
        self.unused.push(at);
    }
}

impl Visitor {
    /// The port, once both bytes are there.
    fn read_port(&mut self) -> rustix::io::Result<Option<u16>> {
        while self.read < self.port.len() {
            match recv(
                &self.socket,
                &mut self.port[self.read..],
                RecvFlags::empty(),
            ) {
                Ok((_, 0)) => return Err(Errno::CONNRESET),
                Ok((taken, _)) => self.read += taken,
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Some(u16::from_be_bytes(self.port)))
    }
}

impl Connection {
    /// Writes what the kernel has room for, and shuts the sending side after the last byte.
    fn write(&mut self) -> Progress {
        if self.shut {
            return Progress::Going;
        }
        while self.left_bytes > 0 {
            let most = self.left_bytes.min(ZEROS.len() as u64) as usize;
            match send(&self.socket, &ZEROS[..most], SendFlags::NOSIGNAL) {
                Ok(taken) => self.left_bytes -= taken as u64,
                Err(Errno::AGAIN) => return Progress::Going,
                Err(Errno::INTR) => {}
                Err(_) => return Progress::Over,
            }
        }
        self.shut = true;
        match shutdown(&self.socket, Shutdown::Write) {
            Ok(()) => Progress::Going,
            Err(_) => Progress::Over,
        }
    }
}
