//! One end of a UDP socket: which connections there are, and which packet belongs to which.

use super::peer::Peer;
use super::secrets::{Clock, Secrets};
use super::{Config, EcnCodepoint, EndpointError, Statistics, Transmit, Written};
use crate::event::{Event, PeerId, SendError, Why};
use crate::identity::{Identity, PublicKey};
use crate::trust;
use bytes::BytesMut;
use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq_proto::{
    ClientConfig, ConnectionHandle, DatagramEvent, EndpointEvent, FourTuple, Incoming,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

/// Answers to strangers that wait to be sent; more are dropped.
const MOST_RESPONSES: usize = 64;
/// RFC 9000, section 14.1: a client's first packets are at least this long.
const INITIAL_BYTES: usize = 1200;
const LONG_HEADER: u8 = 0x80;
const VERSION_1: [u8; 4] = [0, 0, 0, 1];

/// One end of a UDP socket.
pub struct Endpoint {
    quic: noq_proto::Endpoint,
    config: Config,
    /// The near end: how it connects, and to whom.
    far: Option<(ClientConfig, SocketAddr)>,
    peers: BTreeMap<PeerId, Peer>,
    by_handle: BTreeMap<ConnectionHandle, PeerId>,
    next_peer: u64,
    /// Connections that may have something to send, and those with events.
    sending: VecDeque<PeerId>,
    telling: VecDeque<PeerId>,
    responses: VecDeque<(Transmit, Vec<u8>)>,
    /// The last events of connections that the library gave up.
    fallen: VecDeque<(PeerId, Event)>,
    clock: Arc<Clock>,
    /// Newcomers who had to show their address, and those who were ignored.
    strangers: (u64, u64),
}

impl Endpoint {
    /// The near end. It connects to `far` at once, which must have the key `far_key`.
    pub fn near(
        config: Config,
        far: SocketAddr,
        far_key: PublicKey,
        own: &Identity,
        now: Instant,
    ) -> Result<Self, EndpointError> {
        let secrets = Secrets::new(own, &config);
        let crypto = QuicClientConfig::try_from(trust::near(own, far_key))
            .expect("the provider has QUIC's first suite");
        let mut client = ClientConfig::new(Arc::new(crypto));
        client.transport_config(Arc::new(config.transport(0)));
        secrets.client(&mut client);
        let mut endpoint = Self::new(config, &secrets, None, Clock::new(now))?;
        endpoint.far = Some((client, far));
        endpoint.connect(now)?;
        Ok(endpoint)
    }

    /// The far end. It lets in those that have one of the keys `allowed`.
    pub fn far(
        config: Config,
        own: &Identity,
        allowed: BTreeSet<PublicKey>,
        now: Instant,
    ) -> Result<Self, EndpointError> {
        let secrets = Secrets::new(own, &config);
        let clock = Clock::new(now);
        let crypto = QuicServerConfig::try_from(trust::far(own, allowed))
            .expect("the provider has QUIC's first suite");
        let mut server = secrets.server(Arc::new(crypto), clock.clone());
        server.transport_config(Arc::new(config.transport(1)));
        Self::new(config, &secrets, Some(server), clock)
    }

    fn new(
        config: Config,
        secrets: &Secrets,
        server: Option<noq_proto::ServerConfig>,
        clock: Arc<Clock>,
    ) -> Result<Self, EndpointError> {
        let (certain, largest) = (config.certain_udp_payload, config.most_udp_payload());
        if certain < 1200 || largest > 65_527 {
            return Err(EndpointError::UdpPayload(certain, largest));
        }
        let endpoint = secrets.endpoint(&config);
        Ok(Self {
            quic: noq_proto::Endpoint::new(Arc::new(endpoint), server.map(Arc::new), true),
            config,
            far: None,
            peers: BTreeMap::new(),
            by_handle: BTreeMap::new(),
            next_peer: 0,
            sending: VecDeque::new(),
            telling: VecDeque::new(),
            responses: VecDeque::new(),
            fallen: VecDeque::new(),
            clock,
            strangers: (0, 0),
        })
    }

    /// The near end: connects again, after `Event::Closed`.
    pub fn connect(&mut self, now: Instant) -> Result<PeerId, EndpointError> {
        let (client, far) = self.far.clone().ok_or(EndpointError::NotNear)?;
        let (handle, conn) = self
            .quic
            .connect(now, client, far, trust::SERVER_NAME)
            .map_err(|_| EndpointError::Address(far))?;
        Ok(self.add(now, handle, conn))
    }

    fn add(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        conn: noq_proto::Connection,
    ) -> PeerId {
        let id = PeerId(self.next_peer);
        self.next_peer += 1;
        self.peers
            .insert(id, Peer::new(now, handle, conn, &self.config));
        self.by_handle.insert(handle, id);
        self.after(now, id);
        id
    }

    /// Takes a UDP packet from `remote` that came in at the local address `local`, if that is known.
    pub fn handle(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        local: Option<IpAddr>,
        ecn: Option<EcnCodepoint>,
        packet: BytesMut,
    ) {
        let segment = packet.len();
        self.handle_packets(now, remote, local, ecn, packet, segment);
    }

    /// Takes UDP packets that came together: each has `segment` bytes but the last, which may be shorter.
    pub fn handle_packets(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        local: Option<IpAddr>,
        ecn: Option<EcnCodepoint>,
        mut packets: BytesMut,
        segment: usize,
    ) {
        self.clock.set(now);
        let path = FourTuple::new(remote, local);
        // The connection that was given the last packets, and has not been asked what they brought.
        let mut told = None;
        while !packets.is_empty() {
            let packet = packets.split_to(segment.clamp(1, packets.len()));
            let to = self.handle_packet(now, path, ecn, packet);
            if told != to
                && let Some(before) = std::mem::replace(&mut told, to)
            {
                self.after(now, before);
            }
        }
        if let Some(last) = told {
            self.after(now, last);
        }
    }

    /// Gives a packet to its connection, if it is of one.
    fn handle_packet(
        &mut self,
        now: Instant,
        path: FourTuple,
        ecn: Option<EcnCodepoint>,
        packet: BytesMut,
    ) -> Option<PeerId> {
        if is_bait(&packet) {
            return None;
        }
        let mut response = Vec::new();
        match self.quic.handle(now, path, ecn, packet, &mut response)? {
            DatagramEvent::ConnectionEvent(handle, event) => {
                let &id = self.by_handle.get(&handle)?;
                self.guarded(id, |peer| {
                    peer.heard(now);
                    peer.conn.handle_event(event);
                });
                return Some(id);
            }
            DatagramEvent::NewConnection(incoming) => self.meet(now, incoming, response),
            DatagramEvent::Response(transmit) => self.respond(&transmit, response),
        }
        None
    }

    /// Somebody wants to connect.
    fn meet(&mut self, now: Instant, incoming: Incoming, mut response: Vec<u8>) {
        let handshakes = self
            .peers
            .values()
            .filter(|peer| peer.is_handshaking())
            .count();
        if handshakes >= self.config.most_handshakes {
            self.strangers.1 += 1;
            return self.quic.ignore(incoming);
        }
        if handshakes >= self.config.retry_from_handshakes
            && !incoming.remote_address_validated()
            && incoming.may_retry()
        {
            if let Ok(transmit) = self.quic.retry(incoming, &mut response) {
                self.strangers.0 += 1;
                self.respond(&transmit, response);
            }
            return;
        }
        match self.quic.accept(incoming, now, &mut response, None) {
            Ok((handle, conn)) => {
                self.add(now, handle, conn);
            }
            Err(error) => {
                if let Some(transmit) = error.response {
                    self.respond(&transmit, response);
                }
            }
        }
    }

    fn respond(&mut self, transmit: &noq_proto::Transmit, bytes: Vec<u8>) {
        if self.responses.len() < MOST_RESPONSES {
            let transmit = Transmit {
                destination: transmit.destination,
                source: transmit.src_ip,
                ecn: transmit.ecn,
                size: transmit.size,
                segment_size: None,
            };
            self.responses.push_back((transmit, bytes));
        }
    }

    /// Writes the next packets into `out`, whose old contents are removed.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<Transmit> {
        out.clear();
        if let Some((transmit, bytes)) = self.responses.pop_front() {
            out.extend_from_slice(&bytes[..transmit.size]);
            return Some(transmit);
        }
        while let Some(&id) = self.sending.front() {
            let sent = self
                .guarded(id, |peer| peer.poll_transmit(now, out))
                .flatten();
            self.mark_telling(id);
            if sent.is_some() {
                // The connections take turns.
                self.sending.rotate_left(1);
                return sent;
            }
            out.clear();
            if let Some(peer) = self.peers.get_mut(&id) {
                peer.in_sending = false;
            }
            self.sending.pop_front();
        }
        None
    }

    /// When `handle_timeout` is due, if ever.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.peers.values().filter_map(Peer::timeout).min()
    }

    pub fn handle_timeout(&mut self, now: Instant) {
        self.clock.set(now);
        let due: Vec<_> = self
            .peers
            .iter()
            .filter(|(_, peer)| peer.timeout().is_some_and(|at| at <= now))
            .map(|(&id, _)| id)
            .collect();
        for id in due {
            self.guarded(id, |peer| peer.handle_timeout(now));
            self.after(now, id);
        }
    }

    /// What happened, and to which connection.
    pub fn poll_event(&mut self, now: Instant) -> Option<(PeerId, Event)> {
        if let Some(fallen) = self.fallen.pop_front() {
            return Some(fallen);
        }
        while let Some(&id) = self.telling.front() {
            if let Some(peer) = self.peers.get_mut(&id) {
                if let Some(event) = peer.poll_event() {
                    if peer.can_read_on() {
                        self.after(now, id);
                    }
                    return Some((id, event));
                }
                peer.in_telling = false;
            }
            self.telling.pop_front();
            self.forget_drained(id);
        }
        None
    }

    /// Takes a datagram of 1 to `max_datagram` bytes. It can be lost on the path.
    pub fn send_datagram(&mut self, peer: PeerId, body: &[u8]) -> Result<(), SendError> {
        self.sending_peer(peer)?.send_datagram(body)
    }

    /// Takes datagrams of 1 to `max_datagram` bytes, while there is room for one of the greatest length: `write` appends the next one to its
    /// argument, or says `false` if there is none. If there is no room left, `Event::Writable` follows when there is.
    pub fn send_datagrams(
        &mut self,
        peer: PeerId,
        write: impl FnMut(&mut Vec<u8>) -> bool,
    ) -> Written {
        let found = self.peers.get_mut(&peer);
        let written = found.map(|it| it.send_datagrams(write)).unwrap_or_default();
        if written.taken > 0 {
            self.mark_sending(peer);
        }
        written
    }

    /// Takes a control message of 1 to 16384 bytes. It arrives, in order, unless the connection ends.
    pub fn send_control(&mut self, peer: PeerId, body: &[u8]) -> Result<(), SendError> {
        self.sending_peer(peer)?.send_control(body)
    }

    fn sending_peer(&mut self, id: PeerId) -> Result<&mut Peer, SendError> {
        self.mark_sending(id);
        self.peers.get_mut(&id).ok_or(SendError::NotConnected)
    }

    /// Ends a connection. The other end is told `code` and the first 256 bytes of `reason`. What waits to be sent is dropped.
    pub fn close(&mut self, now: Instant, peer: PeerId, code: u64, reason: &str) {
        self.guarded(peer, |found| found.close(now, code, reason));
        self.after(now, peer);
    }

    /// This end's addresses or its path have changed: all connections probe at once, with new connection IDs.
    ///
    /// A changed address of the other end needs no call.
    pub fn network_changed(&mut self, now: Instant) {
        for id in self.peers.keys().copied().collect::<Vec<_>>() {
            self.guarded(id, |peer| peer.network_changed(now));
            self.after(now, id);
        }
    }

    /// The longest datagram that can be sent now, in bytes; 0 where there is no connection.
    pub fn max_datagram(&self, peer: PeerId) -> usize {
        self.peers.get(&peer).map_or(0, Peer::max_datagram)
    }

    pub fn statistics(&mut self, peer: PeerId) -> Option<Statistics> {
        self.peers.get_mut(&peer).map(Peer::statistics)
    }

    /// Since when something that the other end answers has brought no answer, while connected.
    pub fn unanswered_since(&self, peer: PeerId) -> Option<Instant> {
        self.peers.get(&peer)?.unanswered_since()
    }

    /// The far end: newcomers who had to show their address before anything else, and those who got no answer at all.
    pub fn strangers(&self) -> (u64, u64) {
        self.strangers
    }

    /// When a packet of this connection last arrived, or since when it is there.
    pub fn last_heard(&self, peer: PeerId) -> Option<Instant> {
        Some(self.peers.get(&peer)?.last_heard())
    }

    /// All connections that are not forgotten yet.
    pub fn peers(&self) -> impl Iterator<Item = PeerId> {
        self.peers.keys().copied()
    }

    /// Asks a connection something, or tells it something. A connection in which the library panics ends alone: a packet of a stranger, or
    /// one that the path has damaged, must not end the gateway. `None`: there is no such connection, or not any more.
    fn guarded<T>(&mut self, id: PeerId, work: impl FnOnce(&mut Peer) -> T) -> Option<T> {
        let peer = self.peers.get_mut(&id)?;
        if let Ok(found) = catch_unwind(AssertUnwindSafe(|| work(peer))) {
            return Some(found);
        }
        // What is left of it may be anything, and is not asked again.
        let peer = self.peers.remove(&id)?;
        self.by_handle.remove(&peer.handle);
        self.quic
            .handle_event(peer.handle, EndpointEvent::drained());
        let why =
            Why::Transport("a defect of the QUIC library, which has ended this connection".into());
        self.fallen.push_back((id, peer.fallen(why)));
        None
    }

    /// Looks at what a connection has to say, to the endpoint and to the session, after it was told something.
    fn after(&mut self, now: Instant, id: PeerId) {
        let Some(was_handshaking) = self.guarded(id, |peer| {
            let was_handshaking = peer.is_handshaking();
            peer.drive(now);
            was_handshaking
        }) else {
            return;
        };
        let mut drained = false;
        while let Some((handle, event)) = self
            .guarded(id, |peer| {
                Some((peer.handle, peer.conn.poll_endpoint_events()?))
            })
            .flatten()
        {
            drained |= event.is_drained();
            if let Some(event) = self.quic.handle_event(handle, event) {
                self.guarded(id, |peer| {
                    peer.conn.handle_event(event);
                    peer.drive(now);
                });
            }
        }
        let Some(peer) = self.peers.get(&id) else {
            return;
        };
        let newcomer = peer
            .connected_key()
            .filter(|_| was_handshaking && self.far.is_none());
        if drained {
            self.by_handle.remove(&peer.handle);
        }
        if let Some(key) = newcomer {
            self.make_room(now, key);
        }
        self.mark_sending(id);
        self.mark_telling(id);
        self.forget_drained(id);
    }

    /// Ends the oldest connections with this key if there are more than allowed.
    fn make_room(&mut self, now: Instant, key: PublicKey) {
        let with_key = self
            .peers
            .iter()
            .filter(|(_, peer)| peer.connected_key() == Some(key))
            .map(|(&id, _)| id);
        let with_key: Vec<_> = with_key.collect();
        let too_many = with_key.len().saturating_sub(self.config.most_per_key);
        for &id in &with_key[..too_many] {
            self.guarded(id, |peer| peer.replace(now));
            self.after(now, id);
        }
    }

    fn forget_drained(&mut self, id: PeerId) {
        if self
            .peers
            .get(&id)
            .is_some_and(|peer| peer.conn.is_drained() && !peer.has_events())
        {
            self.peers.remove(&id);
        }
    }

    fn mark_sending(&mut self, id: PeerId) {
        if let Some(peer) = self.peers.get_mut(&id).filter(|peer| !peer.in_sending) {
            peer.in_sending = true;
            self.sending.push_back(id);
        }
    }

    fn mark_telling(&mut self, id: PeerId) {
        if let Some(peer) = self
            .peers
            .get_mut(&id)
            .filter(|peer| !peer.in_telling && peer.has_events())
        {
            peer.in_telling = true;
            self.telling.push_back(id);
        }
    }
}

/// A packet of an unknown version that is too short to be a client's first: noq-proto would answer it with up to five times its
/// bytes. RFC 9000, section 6.1 lets a server ignore it.
fn is_bait(packet: &[u8]) -> bool {
    let long = packet.first().is_some_and(|first| first & LONG_HEADER != 0);
    long && packet.len() < INITIAL_BYTES && packet.get(1..5) != Some(&VERSION_1)
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("peers", &self.peers.len())
            .finish_non_exhaustive()
    }
}
