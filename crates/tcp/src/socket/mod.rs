//! The socket: its state, who gets an arriving segment, the closing (RFC 9293, section 3.6), and the application's calls.
//!
//! What a connection remembers is in parts: the files beside this folder. Each keeps its own state, knows no socket, and is told what
//! it needs. The files in this folder are the socket's code: they say in which order the parts are asked, and pass on the answers.
//!
//! Each call sets `window.now` first. A segment in an established connection then goes through, in this order (`tcp_rcv_established`,
//! `tcp_ack`):
//! 1. acceptability.rs: is it in the window, and is its timestamp not old (PAWS)?
//! 2. ack.rs, `on_ack`:
//!    the timestamp to echo, the peer's window (part `PeerWindow`), `snd_una`;
//!    sack.rs marks in the `Scoreboard` what SACK blocks report;
//!    `clean_queue` drops what is acknowledged and takes the RTT and delivery samples (`Rtt`, `Rate`);
//!    `Rack` adapts to reordering; `loss_probe.rs` closes a probe's episode (`Tlp`);
//!    recovery.rs, `react`: undoing.rs takes back what was needless (`Undo`), losses.rs and newreno.rs mark losses, the state changes;
//!    timing.rs sets the retransmission timer (`Timers`);
//!    `Rate` completes the sample; `control_window` lets `Prr` (reduction.rs) or the congestion control change cwnd;
//!    retransmission.rs sends again what is lost.
//! 3. receiving.rs, `on_data`: the payload is put in order (`Receiver`).
//! 4. `after_ack`: new data leaves (sending.rs, with `Output`), and the writer is woken (writing.rs, with `SendBuffer`).
//! 5. `advance_close`: states of the closing.
//! 6. acknowledging.rs: an ACK leaves now or later (`DelayedAck`). Then the application reads, and the window opens
//!    (`ReceiveBuffer`).
//!
//! A timer's expiry is taken up in timing.rs, `on_timer`: retransmission first, then pacing, delayed ACKs, reading and writing. An
//! application's call ends in `fill_and_push` (writing.rs).
//!
//! What holds between two calls is checked in invariants.rs wherever debug assertions are on.
//!
//! Departures:
//! 1. The final ACK of a handshake is assumed valid: there are no old duplicates of other connections.
//! 2. TIME-WAIT holds no port and no timer, as ports are not modelled as scarce; a FIN that comes again is acknowledged.

mod acceptability;
mod ack;
mod acknowledging;
mod handshake;
mod header;
mod invariants;
mod loss_probe;
mod losses;
mod newreno;
mod pacing;
mod receive_window;
mod receiving;
mod recovery;
mod reduction;
mod retransmission;
mod sack;
mod sampling;
mod sending;
mod timing;
mod undoing;
mod window_use;
mod writing;

use crate::agreed::Agreed;
use crate::chrono::{Chrono, Limit};
use crate::config::Config;
use crate::congestion::{CongestionControl, Window};
use crate::counters::Counters;
use crate::delayed_ack::DelayedAck;
use crate::outbox::{Notice, Outbox};
use crate::output::Output;
use crate::peer_window::PeerWindow;
use crate::prr::Prr;
use crate::rack::Rack;
use crate::rate::Rate;
use crate::receive_buffer::ReceiveBuffer;
use crate::receiver::Receiver;
use crate::rtt::{RTO_INITIAL, Rtt};
use crate::scoreboard::Scoreboard;
use crate::segment::{Segment, flag};
use crate::send_buffer::SendBuffer;
use crate::timers::Timers;
use crate::timestamps::Timestamps;
use crate::tlp::Tlp;
use crate::undo::Undo;
use crate::usage::Usage;
use bentpipe_base::time::Time;
use receiving::Reader;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    Closing,
    CloseWait,
    LastAck,
    Closed,
}

#[derive(Debug)]
pub struct Socket {
    config: Arc<Config>,
    state: State,
    agreed: Agreed,
    timestamps: Timestamps,
    timers: Timers,
    counters: Counters,
    // sending
    window: Window,
    control: Box<dyn CongestionControl>,
    usage: Usage,
    output: Output,
    send: SendBuffer,
    peer: PeerWindow,
    chrono: Chrono,
    board: Scoreboard,
    rtt: Rtt,
    rate: Rate,
    // repair
    rack: Rack,
    tlp: Tlp,
    prr: Prr,
    undo: Undo,
    /// Whether a timeout was spurious is being found out (RFC 5682).
    frto: bool,
    /// Timeouts in a row without progress.
    retransmits: u32,
    /// The peer has dropped what it had `SACKed`.
    reneged: bool,
    // receiving
    receiver: Receiver,
    delayed: DelayedAck,
    buffer: ReceiveBuffer,
    reader: Reader,
    /// Closed by [`abort`](Self::abort).
    aborted: bool,
    calls_since_recount: u32,
}

impl Socket {
    fn new(config: &Arc<Config>, mtu: u32, random: u64, state: State) -> Option<Self> {
        let advertised_mss = mtu - config.ip_header() - 20;
        let control = config.congestion_control.make().ok()?;
        let mut window = Window::new(config.initcwnd, random);
        if let Some(most) = config.max_pacing_rate_bit_s {
            window.bound_pacing(most / 8);
        }
        let buffer = ReceiveBuffer::new(config, advertised_mss);
        Some(Self {
            config: Arc::clone(config),
            state,
            agreed: Agreed::offer(config),
            timestamps: Timestamps::new((random >> 32) as u32),
            timers: Timers::new(config.tick_ns, random),
            counters: Counters::default(),
            window,
            control,
            usage: Usage::default(),
            output: Output::new(advertised_mss, config.ip_header(), config.nagle),
            send: SendBuffer::new(config),
            peer: PeerWindow::default(),
            chrono: Chrono::default(),
            board: Scoreboard::default(),
            rtt: Rtt::default(),
            rate: Rate::default(),
            rack: Rack::default(),
            tlp: Tlp::default(),
            prr: Prr::default(),
            undo: Undo::default(),
            frto: false,
            retransmits: 0,
            reneged: false,
            receiver: Receiver::default(),
            delayed: DelayedAck::default(),
            buffer,
            reader: Reader::default(),
            aborted: false,
            calls_since_recount: 0,
        })
    }

    /// An active open: the SYN leaves at once. `None` if there is no such congestion control.
    pub fn connect(
        config: &Arc<Config>,
        mtu: u32,
        random: u64,
        now: Time,
        out: &mut Outbox,
    ) -> Option<Self> {
        let mut socket = Self::new(config, mtu, random, State::SynSent)?;
        socket.window.view.now = now;
        socket.timers.retransmit_in(now, RTO_INITIAL);
        socket.send_syn(out);
        Some(socket)
    }

    /// A passive open: a SYN has arrived at a listener.
    pub fn accept(
        syn: &Segment,
        config: &Arc<Config>,
        mtu: u32,
        random: u64,
        now: Time,
        out: &mut Outbox,
    ) -> Option<Self> {
        let mut socket = Self::new(config, mtu, random, State::SynReceived)?;
        socket.window.view.now = now;
        socket.counters.segments_in += 1;
        socket.negotiate(syn);
        socket.timers.retransmit_in(now, RTO_INITIAL);
        socket.send_syn(out);
        Some(socket)
    }

    pub fn state(&self) -> State {
        self.state
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    pub fn window(&self) -> &Window {
        &self.window
    }

    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Milliseconds as the timestamp option counts them.
    pub(super) fn timestamp(&self) -> u32 {
        self.timestamps.at(self.window.now)
    }

    /// A segment for this socket arrives.
    pub fn on_segment(&mut self, now: Time, packet: &Segment, out: &mut Outbox) {
        self.window.view.now = now;
        self.counters.segments_in += u64::from(packet.segments.max(1));
        match self.state {
            State::Closed if packet.has(flag::FIN) && self.receiver.fin_reached => {
                // Our last ACK was lost.
                self.send_ack(out);
            }
            State::Closed if self.aborted && !packet.has(flag::RST) => self.send_reset(out),
            State::Closed => {}
            State::SynSent => self.in_syn_sent(packet, out),
            _ if packet.has(flag::RST) => self.fail(out),
            State::SynReceived => {
                if packet.has(flag::SYN) {
                    self.send_syn(out);
                } else if packet.has(flag::ACK) && packet.ack >= 1 {
                    self.peer.begin(self.peer.of(packet));
                    if let Some((value, _)) = packet.timestamps {
                        self.timestamps.recent = value;
                    }
                    self.establish(out);
                    self.in_established(packet, out);
                    if self.can_send() && self.send.offered > 0 {
                        // Written before the connection was there.
                        self.fill_and_push(out);
                    }
                }
            }
            _ if packet.has(flag::SYN) => {
                // Our ACK of the SYN-ACK was lost.
                self.send_ack(out);
            }
            _ => self.in_established(packet, out),
        }
        self.check_invariants();
    }

    fn in_established(&mut self, packet: &Segment, out: &mut Outbox) {
        if !self.is_acceptable(packet, out) {
            return;
        }
        self.on_ack(packet, out);
        if packet.payload > 0 || packet.has(flag::FIN) {
            self.on_data(packet, out);
        }
        self.after_ack(out);
        self.advance_close(out);
        if packet.payload > 0 || packet.has(flag::FIN) {
            self.acknowledge_if_due(out);
            self.read_at_once(out);
        }
        if self.state == State::Closed {
            self.timers.stop_all_but_reading();
        }
    }

    /// State changes that an acknowledged FIN or a received one cause.
    fn advance_close(&mut self, out: &mut Outbox) {
        let fin_acked = self
            .output
            .fin_seq
            .is_some_and(|seq| self.window.snd_una > seq);
        let peer_done = self.receiver.fin_reached;
        self.state = match self.state {
            State::FinWait1 if fin_acked && peer_done => State::Closed,
            State::FinWait1 if fin_acked => State::FinWait2,
            State::FinWait1 if peer_done => State::Closing,
            State::FinWait2 if peer_done => State::Closed,
            State::Closing | State::LastAck if fin_acked => State::Closed,
            State::Established if peer_done => State::CloseWait,
            state => state,
        };
        if self.state == State::Closed {
            if peer_done && self.receiver.fin_unacked {
                self.send_ack(out);
            }
            self.timers.stop_all_but_reading();
            out.notices.push(Notice::Closed(true));
        }
    }

    pub(super) fn fail(&mut self, out: &mut Outbox) {
        self.state = State::Closed;
        self.timers = Timers::default();
        out.notices.push(Notice::Closed(false));
    }

    // --- the application's calls ---

    /// The application has this many more bytes to send; it writes whenever the send buffer takes some.
    pub fn write(&mut self, now: Time, bytes: u64, out: &mut Outbox) {
        self.window.view.now = now;
        self.send.offered = self.send.offered.saturating_add(bytes);
        if self.can_send() {
            self.fill_and_push(out);
        }
        self.check_invariants();
    }

    /// The application writes no more: what it offered and has not yet written is dropped.
    pub fn stop_writing(&mut self, now: Time) {
        self.window.view.now = now;
        self.send.offered = 0;
        self.send.rest = 0;
    }

    /// Closes when all that was offered has been sent.
    pub fn close(&mut self, now: Time, out: &mut Outbox) {
        self.window.view.now = now;
        self.send.closing = true;
        match self.state {
            State::SynSent | State::SynReceived => {
                self.state = State::Closed;
                self.timers = Timers::default();
            }
            State::Established | State::CloseWait => self.fill_and_push(out),
            _ => {}
        }
        self.check_invariants();
    }

    /// Ends the connection here and now; the peer is told by a RST, and by another for whatever still comes from it.
    pub fn abort(&mut self, now: Time, out: &mut Outbox) {
        self.window.view.now = now;
        if self.state != State::Closed {
            self.send_reset(out);
            self.aborted = true;
            self.state = State::Closed;
            self.timers = Timers::default();
        }
    }

    fn send_reset(&mut self, out: &mut Outbox) {
        let mut packet = self.packet(flag::RST | flag::ACK, self.window.snd_nxt);
        packet.window = 0;
        self.transmit(packet, out);
    }

    pub(super) fn can_send(&self) -> bool {
        matches!(self.state, State::Established | State::CloseWait)
    }

    /// The next instant at which [`on_timer`](Self::on_timer) has something to do.
    pub fn next_timer(&self) -> Option<Time> {
        self.timers.next()
    }

    /// Bytes that the application has read so far.
    pub fn bytes_read(&self) -> u64 {
        self.receiver.bytes_read()
    }

    /// Payload that has arrived in order, and that the application has not read.
    pub fn unread(&self) -> u64 {
        self.receiver.unread()
    }

    /// The peer sends nothing more, and the application has read all of it.
    pub fn has_read_all(&self) -> bool {
        self.receiver.fin_reached && self.receiver.unread() == 0
    }

    /// What the application offers and the send buffer has no room for.
    pub fn unwritten(&self) -> u64 {
        self.send.offered
    }

    /// Payload that the application has written or offers, and that the peer has not acknowledged.
    pub fn unacknowledged(&self) -> u64 {
        let end = self.output.fin_seq.unwrap_or(self.send.write_seq);
        self.send.offered + end.saturating_sub(self.window.snd_una.max(1))
    }

    /// Payload that the peer has acknowledged.
    pub fn acknowledged(&self) -> u64 {
        let end = self.output.fin_seq.unwrap_or(u64::MAX);
        self.window.snd_una.min(end).saturating_sub(1)
    }

    /// Work done on the scoreboard so far, for tests of what an ACK costs. Counted only where debug assertions are on; else 0.
    pub fn scoreboard_operations(&self) -> u64 {
        self.board.operations()
    }

    pub fn retransmits(&self) -> u64 {
        self.counters.retransmits
    }

    /// Moves to the state after sending a FIN, and accounts for its place in the sequence space.
    pub(super) fn queue_fin(&mut self, seq: u64) {
        self.output.fin_seq = Some(seq);
        self.state = match self.state {
            State::CloseWait => State::LastAck,
            _ => State::FinWait1,
        };
    }

    pub(super) fn all_acked(&self) -> bool {
        self.window.packets_out == 0
            && self.send.write_seq == self.window.snd_nxt.min(self.send.write_seq)
    }

    pub(super) fn stop_chrono(&mut self, limit: Limit) {
        let empty = self.all_acked();
        self.chrono.stop(self.window.now, limit, empty);
    }
}
