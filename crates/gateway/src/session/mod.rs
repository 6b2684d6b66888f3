//! A session: what near and far have in common, from the first HELLO until one of them forgets it.
//!
//! | state | datagrams | ends with |
//! |---|---|---|
//! | no carrier | none | a carrier |
//! | greeting | come and are left out | the other gateway's HELLO |
//! | up | both ways | the loss of the carrier, or a violation of the protocol |
//!
//! Near says which session it knows, far which one both have. Where they name the same one, it goes on, also over another carrier.
//! Where they do not, one of them was started anew or has forgotten: the flows of the old session are reset on both sides.

mod associations;
mod datagrams;
mod exchange;
mod figures;
mod flows;
mod live;
mod lossy;
mod plane;

pub use datagrams::{DatagramFigures, Received};
pub use figures::Figures;

use crate::config::{Config, ConfigError};
use crate::flow::FlowId;
use crate::frame::Frames;
use crate::hello::{Control, Hello, VERSION};
use crate::target::{Channel, NamedTarget, Target};
use associations::Broken;
use bentpipe_base::{SplitMix64, Time};
use bentpipe_fec::FrameKind;
use core::fmt;
use flows::Flows;
use lossy::{LOSSY, Lossy};
use plane::{PLANE_BYTES, Plane, RELIABLE, packet_max_bytes};
use std::collections::VecDeque;

/// A session needs packets of at least so many bytes: in shorter ones not every frame has room.
const LEAST_PACKET_BYTES: usize = 128;

/// Which gateway this is. Near connects to far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Near,
    Far,
}

/// Why both directions of a flow are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetCode {
    /// A host has reset its connection.
    Host = 1,
    /// The destination has refused the connection.
    Refused = 2,
    /// There is no way to the destination.
    Unreachable = 3,
    /// The destination, or a host, did not answer in time.
    TimedOut = 4,
    /// The access list does not name the destination.
    NotAllowed = 5,
    /// The target cannot be read, or is of a kind that is not known.
    Target = 6,
    /// The session has ended.
    SessionLost = 7,
    /// The gateway has no room for the flow.
    Overloaded = 8,
    /// The association is not used any more.
    Closed = 9,
    /// A code that is not known here.
    Other = 255,
}

impl ResetCode {
    const ALL: [Self; 9] = [
        Self::Host,
        Self::Refused,
        Self::Unreachable,
        Self::TimedOut,
        Self::NotAllowed,
        Self::Target,
        Self::SessionLost,
        Self::Overloaded,
        Self::Closed,
    ];

    pub fn from_number(code: u8) -> Self {
        let known = Self::ALL.into_iter().find(|it| *it as u8 == code);
        known.unwrap_or(Self::Other)
    }
}

/// Why a session has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The other gateway has begun another one: it was started anew, or has forgotten this one.
    PeerBeganAnew,
    /// There was no carrier for too long.
    TimedOut,
    /// The other gateway speaks another version.
    Version(u16),
    /// The other gateway does not keep to the protocol.
    Protocol(String),
    /// The carrier takes only datagrams that are too short for packets that were sent.
    ShortDatagrams(usize),
    /// The other gateway has closed it, and says why.
    Closed(String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PeerBeganAnew => f.write_str("the other gateway has begun a new session"),
            Self::TimedOut => f.write_str("there was no carrier for too long"),
            Self::Version(version) => write!(
                f,
                "the other gateway speaks version {version}, this one {VERSION}"
            ),
            Self::Protocol(what) => write!(f, "the other gateway broke the protocol: {what}"),
            Self::ShortDatagrams(bytes) => {
                write!(f, "the carrier takes no more than {bytes} bytes a datagram")
            }
            Self::Closed(reason) => write!(f, "the other gateway closed it: {reason}"),
        }
    }
}

/// A flow cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// There is no session.
    NoSession,
    /// The other gateway takes no more flows.
    TooMany,
    /// One of both gateways takes no datagrams.
    NoDatagrams,
}

/// What a driver has to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// There is a session. `resumed`: the one before goes on, with its flows.
    Established {
        resumed: bool,
    },
    /// The session has ended. All its flows are reset: an event for each comes before this one.
    Lost(Why),
    /// The other gateway has opened a flow.
    Opened {
        flow: FlowId,
        target: Target,
    },
    /// The other gateway has opened a flow to a name.
    OpenedNamed {
        flow: FlowId,
        target: NamedTarget,
    },
    /// The other gateway has opened an association, or a channel for IP packets.
    OpenedChannel {
        flow: FlowId,
        channel: Channel,
    },
    /// There are bytes to read, or their end.
    Readable(FlowId),
    /// There is room again for bytes, after there was none.
    Writable(FlowId),
    Reset {
        flow: FlowId,
        code: ResetCode,
    },
}

/// A datagram that was written to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    pub kind: FrameKind,
    pub bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Down,
    Greeting { max_datagram: usize },
    Up,
}

#[derive(Debug)]
struct Established {
    id: u64,
    plane: Plane,
    /// Without it no datagrams cross.
    lossy: Option<Lossy>,
    flows: Flows,
}

/// One end of the protocol.
#[derive(Debug)]
pub struct Session {
    config: Config,
    role: Role,
    epoch: u64,
    random: SplitMix64,
    link: Link,
    /// When the session was up last.
    up_until: Time,
    established: Option<Established>,
    control: VecDeque<Control>,
    events: VecDeque<Event>,
    packet: Vec<u8>,
    reliable: bool,
    figures: Figures,
}

impl Session {
    /// `epoch`: another number each time that the gateway starts. `seed`: for the numbers of sessions.
    pub fn new(config: Config, role: Role, epoch: u64, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            config,
            role,
            epoch,
            random: SplitMix64(seed),
            link: Link::Down,
            up_until: Time::ZERO,
            established: None,
            control: VecDeque::new(),
            events: VecDeque::new(),
            packet: Vec::new(),
            reliable: false,
            figures: Figures::default(),
        })
    }

    // --- from the carrier ---

    /// A carrier is there, which takes datagrams of at most so many bytes.
    pub fn on_carrier_connected(&mut self, now: Time, max_datagram: usize) {
        self.on_carrier_lost(now);
        self.set_reliable(false);
        self.link = Link::Greeting { max_datagram };
        if self.role == Role::Near {
            let session = self.established.as_ref().map_or(0, |it| it.id);
            self.greet(session, max_datagram);
        }
    }

    /// Whether the carrier that is there brings every datagram, in order, as TLS over TCP does. Then nothing is sent that only losses need: no
    /// repairs, and nothing twice. A new carrier is taken for one that loses.
    pub fn set_reliable(&mut self, reliable: bool) {
        self.reliable = reliable;
        if let Some(it) = &mut self.established {
            it.plane.reliable = reliable;
        }
    }

    /// The carrier is gone. The session waits for another one.
    pub fn on_carrier_lost(&mut self, now: Time) {
        self.control.clear();
        if self.link == Link::Up {
            self.up_until = now;
        }
        self.link = Link::Down;
    }

    fn greet(&mut self, session: u64, max_datagram: usize) {
        self.control.push_back(Control::Hello(Hello {
            version: VERSION,
            epoch: self.epoch,
            session,
            packet_max_bytes: packet_max_bytes(max_datagram).min(u16::MAX.into()) as u16,
            kept_packets: self.config.kept_packets,
            flow_credit: self.config.flow_start_window,
            session_credit: self.config.session_window,
            flows: self.config.max_flows,
            datagram_packets: self.config.datagram_packets,
        }));
    }

    /// A control message came.
    pub fn handle_control(&mut self, now: Time, message: &[u8]) {
        match Control::from_bytes(message) {
            Ok(Control::Hello(hello)) => self.on_hello(now, &hello),
            Ok(Control::Close { reason, .. }) => self.end(now, Why::Closed(reason), false),
            Err(error) => self.end(now, Why::Protocol(error.to_string()), true),
        }
    }

    fn on_hello(&mut self, now: Time, hello: &Hello) {
        if hello.version != VERSION {
            self.end(now, Why::Version(hello.version), true);
            return;
        }
        let Link::Greeting { max_datagram } = self.link else {
            self.end(now, Why::Protocol("a second HELLO".to_owned()), true);
            return;
        };
        let known = self.established.as_ref().map_or(0, |it| it.id);
        let resumed = known != 0 && known == hello.session;
        let own_max = packet_max_bytes(max_datagram);
        let shortest = own_max.min(hello.packet_max_bytes.into());
        if shortest < LEAST_PACKET_BYTES {
            let why = format!("packets of {shortest} bytes");
            self.end(now, Why::Protocol(why), true);
            return;
        }
        if resumed
            && self
                .established
                .as_ref()
                .is_some_and(|it| it.plane.packet_max_bytes() > shortest)
        {
            self.end(now, Why::ShortDatagrams(max_datagram), true);
            return;
        }
        let id = if resumed {
            known
        } else {
            self.forget_session(Why::PeerBeganAnew);
            let id = match self.role {
                // 0 stands for none.
                Role::Far => self.random.draw() | 1,
                Role::Near => hello.session,
            };
            if id == 0 {
                self.end(
                    now,
                    Why::Protocol("a session without a number".to_owned()),
                    true,
                );
                return;
            }
            let planes = Plane::new(&self.config, hello, own_max).and_then(|plane| {
                let lossy = Lossy::new(&self.config, hello, own_max, plane.packet_max_bytes());
                Ok((plane, lossy?))
            });
            let Ok((plane, lossy)) = planes else {
                let why = format!("packets of {} bytes", hello.packet_max_bytes);
                self.end(now, Why::Protocol(why), true);
                return;
            };
            let flows = Flows::new(&self.config, self.role, hello);
            self.established = Some(Established {
                id,
                plane,
                lossy,
                flows,
            });
            self.figures.sessions += 1;
            id
        };
        if self.role == Role::Far {
            self.greet(id, max_datagram);
        }
        self.set_reliable(self.reliable);
        self.link = Link::Up;
        self.events.push_back(Event::Established { resumed });
    }

    /// The session is over, and its flows with it.
    fn forget_session(&mut self, why: Why) {
        let Some(old) = self.established.take() else {
            return;
        };
        self.figures = Self::sum(self.figures, &old);
        for flow in old.flows.ids() {
            let code = ResetCode::SessionLost;
            self.events.push_back(Event::Reset { flow, code });
        }
        self.events.push_back(Event::Lost(why));
    }

    fn end(&mut self, now: Time, why: Why, say: bool) {
        let reason = why.to_string();
        if self.established.is_some() {
            self.forget_session(why);
        } else {
            self.events.push_back(Event::Lost(why));
        }
        self.control.clear();
        if say {
            self.control.push_back(Control::Close { code: 1, reason });
        }
        self.link = Link::Down;
        self.up_until = now;
    }

    /// A datagram came. One that no gateway sends is counted, or ends the session where it must have come from the other gateway.
    pub fn handle_datagram(&mut self, now: Time, datagram: &[u8]) {
        let Some(it) = self.established.as_mut().filter(|_| self.link == Link::Up) else {
            self.figures.strays += 1;
            return;
        };
        let plane = datagram.split_first_chunk::<PLANE_BYTES>();
        if let Some(([LOSSY], frame)) = plane
            && it.lossy.is_some()
        {
            self.handle_lossy(now, frame);
            return;
        }
        let Some(([RELIABLE], frame)) = plane else {
            self.figures.malformed += 1;
            return;
        };
        if it.plane.handle(now, frame).is_err() {
            self.figures.malformed += 1;
        }
        while let Some(released) = it.plane.receiver.poll_release(now) {
            for frame in Frames::of(released.packet) {
                let handled = frame.map_err(Broken::Frame).and_then(|frame| {
                    let handled = it.flows.handle(now, frame, &mut self.events);
                    handled.map_err(Broken::Rule)
                });
                if let Err(broken) = handled {
                    self.end(now, Why::Protocol(broken.to_string()), true);
                    return;
                }
            }
        }
        it.plane.receiver.free_before(self.config.coded_back());
        if it.plane.receiver.counters().residual_lost > 0 {
            let why = Why::Protocol("packets beyond the kept ones".to_owned());
            self.end(now, why, true);
        }
    }

    // --- to the carrier ---

    /// The next control message.
    pub fn poll_control(&mut self) -> Option<Vec<u8>> {
        self.control.pop_front().map(|it| it.to_bytes())
    }

    /// Appends the next datagram to `out`, if one may leave now.
    pub fn poll_datagram(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Sent> {
        let it = self
            .established
            .as_mut()
            .filter(|_| self.link == Link::Up)?;
        let before = out.len();
        let plane = &mut it.plane;
        let mut sent = plane.poll_report(now, out);
        if sent.is_none() {
            sent = Self::of_lossy(it, now, out, Lossy::poll_report);
        }
        let plane = &mut it.plane;
        if sent.is_none() && plane.pacer.next() <= now {
            sent = plane.poll_again(now, out);
            // Nobody will ask for what is lost here.
            if sent.is_none() && it.may_repair_datagrams() {
                sent = Self::of_lossy(it, now, out, Lossy::poll_repair);
            }
            if sent.is_none() {
                let packet = &mut self.packet;
                sent = Self::push_next(it, now, packet, &mut self.events, out);
            }
            let plane = &mut it.plane;
            sent = sent.or_else(|| plane.poll_repair(now, out));
            let waits = it.flows.has_work() || !it.flows.datagrams.leaving.is_empty();
            if sent.is_none() && !waits {
                plane.on_nothing_to_send();
            }
        }
        let sent = sent?;
        Some(Sent {
            kind: sent.kind,
            bytes: out.len() - before,
        })
    }

    /// The carrier has sent so many bytes of its own: acknowledgements, probes, longer headers. The session's rate is that of the path, so
    /// it makes room for them.
    pub fn on_carrier_sent(&mut self, now: Time, bytes: u64) {
        if let Some(it) = &mut self.established {
            it.plane.pacer.on_sent(now, bytes);
        }
    }

    /// When to ask again, if nothing else happens.
    pub fn poll_timeout(&self) -> Option<Time> {
        let ends = match self.link {
            Link::Down | Link::Greeting { .. } if self.established.is_some() => {
                let idle = self.established.as_ref();
                let idle = idle.and_then(|it| it.flows.datagrams.next_deadline());
                let over = self.up_until + self.config.session_timeout;
                return Some(idle.map_or(over, |idle| idle.min(over)));
            }
            Link::Up => self.established.as_ref()?,
            _ => return None,
        };
        let plane = ends.plane.poll_timeout();
        let pacer = ends.plane.pacer.next();
        let may_send = ends.may_send_datagrams();
        let has_datagrams = may_send && !ends.flows.datagrams.leaving.is_empty();
        let push = has_datagrams || ends.plane.may_push() && ends.flows.has_work();
        let push = push.then_some(pacer);
        let lossy = ends.lossy.as_ref().map(Lossy::poll_timeout);
        let lossy = lossy.map(|[report, repair]| {
            let repair = repair.filter(|_| ends.may_repair_datagrams());
            [report, repair.map(|at| at.max(pacer))]
        });
        let lossy = lossy.into_iter().flatten().flatten();
        let idle = ends.flows.datagrams.next_deadline();
        plane.into_iter().chain(push).chain(lossy).chain(idle).min()
    }

    /// The time of [`Self::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Time) {
        if let Some(it) = &mut self.established {
            it.flows.end_idle(now, &mut self.events);
        }
        let is_over = self.link != Link::Up && self.up_until + self.config.session_timeout <= now;
        if is_over && self.established.is_some() {
            // A HELLO that names this session may have been sent: then its answer must not come to another one.
            let say = self.link != Link::Down;
            self.end(now, Why::TimedOut, say);
        }
    }

    // --- from and to the hosts ---

    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    pub fn is_up(&self) -> bool {
        self.link == Link::Up
    }

    /// Whether there is a session, with or without a carrier.
    pub fn has_session(&self) -> bool {
        self.established.is_some()
    }

    fn flows(&mut self) -> Option<&mut Flows> {
        self.established.as_mut().map(|it| &mut it.flows)
    }

    /// Opens a flow to `target` for a local user. What is written to it leaves with it, in one flight.
    pub fn open(&mut self, user: u64, target: &Target) -> Result<FlowId, OpenError> {
        let flows = self.flows().ok_or(OpenError::NoSession)?;
        flows.open(user, target)
    }

    /// Opens a flow to a name, which the other gateway resolves if it takes names.
    pub fn open_named(&mut self, user: u64, target: &NamedTarget) -> Result<FlowId, OpenError> {
        let flows = self.flows().ok_or(OpenError::NoSession)?;
        flows.open_with(user, &target.to_bytes())
    }

    /// Takes as many of `bytes` as there is room for, and says how many.
    pub fn write(&mut self, flow: FlowId, bytes: &[u8]) -> usize {
        self.flows().map_or(0, |flows| flows.write(flow, bytes))
    }

    /// How many bytes to write at once: none until a quarter of the flow's buffer is free. If there are none, an event says when there
    /// are.
    pub fn room(&mut self, flow: FlowId) -> usize {
        self.flows().map_or(0, |flows| flows.room(flow))
    }

    /// Nothing more will be written. The other direction goes on.
    pub fn finish(&mut self, flow: FlowId) {
        if let Some(flows) = self.flows() {
            flows.finish(flow);
        }
    }

    /// Ends both directions at once.
    pub fn reset(&mut self, flow: FlowId, code: ResetCode) {
        if let Some(flows) = self.flows() {
            flows.reset(flow, code);
        }
    }

    /// Says whose share a flow has that the other gateway opened.
    pub fn set_user(&mut self, flow: FlowId, user: u64) {
        if let Some(flows) = self.flows() {
            flows.set_user(flow, user);
        }
    }

    /// The next bytes of a flow, as far as they are in one piece; [`Self::consume`] takes them.
    pub fn readable(&mut self, flow: FlowId) -> &[u8] {
        self.flows().map_or(&[], |flows| flows.readable(flow))
    }

    /// The host has taken so many of the readable bytes.
    pub fn consume(&mut self, flow: FlowId, bytes: usize) {
        if let Some(flows) = self.flows() {
            flows.consume(flow, bytes);
        }
    }

    /// Bytes that have come and that hosts have not taken: at most [`Config::session_window`].
    pub fn waiting_bytes(&self) -> u64 {
        let established = self.established.as_ref();
        established.map_or(0, |it| it.flows.waiting_bytes())
    }

    /// Whether all bytes were taken and nothing more comes.
    pub fn has_ended(&self, flow: FlowId) -> bool {
        let established = self.established.as_ref();
        established.is_some_and(|it| it.flows.has_ended(flow))
    }

    /// Whether anything is left of a flow.
    pub fn has_flow(&self, flow: FlowId) -> bool {
        let established = self.established.as_ref();
        established.is_some_and(|it| it.flows.has(flow))
    }

    pub fn figures(&self) -> Figures {
        self.established
            .as_ref()
            .map_or(self.figures, |it| Self::sum(self.figures, it))
    }

    fn sum(mut figures: Figures, it: &Established) -> Figures {
        figures.sender = it.plane.sender.counters();
        figures.receiver = it.plane.receiver.counters();
        figures.round_trip = it.plane.probe.round_trip();
        figures.channel_loss = it.plane.sender.estimate().reported_loss_rate();
        figures.patience = it.plane.patience();
        figures.outstanding = it.plane.outstanding();
        figures.flows = it.flows.len() as u64;
        figures.sent_bytes += it.flows.sent_bytes();
        figures.delivered_bytes += it.flows.taken_bytes();
        figures.opened += it.flows.opened();
        figures.accepted += it.flows.accepted();
        figures.resets += it.flows.resets_seen;
        figures.probes += it.plane.probes;
        figures.datagrams = it.flows.datagrams.figures();
        if let Some(lossy) = &it.lossy {
            let (sender, receiver) = (lossy.sender.counters(), lossy.receiver.counters());
            figures.datagrams.packets = sender.sources;
            figures.datagrams.repairs = sender.repairs;
            figures.datagrams.recovered = receiver.recovered;
            figures.datagrams.left_out = receiver.expired + receiver.implausible;
        }
        figures
    }
}
