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
mod events;
mod exchange;
mod figures;
mod flows;
mod hosts;
mod live;
mod lossy;
mod plane;
mod restarts;

pub use datagrams::{DatagramFigures, Received};
pub use events::{Event, OpenError, ResetCode, Role, Why};
pub use figures::Figures;
pub use plane::packet_payload_max;

use crate::config::{Config, ConfigError};
use crate::frame::Frames;
use crate::hello::{Control, Hello, OLDEST_VERSION, VERSION};
use associations::Broken;
use bentpipe_base::{OrderedSet, SplitMix64, Time};
use bentpipe_fec::FrameKind;
use flows::Flows;
use lossy::{LOSSY, Lossy};
use plane::{PLANE_BYTES, Plane, RELIABLE, UNHEARD, packet_max_bytes};
use std::collections::VecDeque;

/// A session needs packets of at least so many bytes: in shorter ones not every frame has room.
const LEAST_PACKET_BYTES: usize = 128;

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
    tells_unheard: bool,
    gives_back: bool,
    /// When this gateway took its port, and what the machine's clock said then, in microseconds.
    began: Option<(Time, u64)>,
    /// The other gateway's last HELLO, and when it came.
    greeted: Option<(Time, Hello)>,
    /// When the other gateway has said last that its packets are not reported.
    peer_unheard: Option<Time>,
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
            tells_unheard: false,
            gives_back: false,
            began: None,
            greeted: None,
            peer_unheard: None,
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
            self.greet(now, session, max_datagram);
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

    fn greet(&mut self, now: Time, session: u64, max_datagram: usize) {
        let (age_us, clock_us) = self.age_and_clock(now);
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
            age_us,
            clock_us,
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
        // A later one speaks this gateway's version, too, or ends the session.
        if hello.version < OLDEST_VERSION {
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
            let since = self.safe_since(now, hello);
            self.forget_session(Why::PeerBeganAnew, since);
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
            self.greet(now, id, max_datagram);
        }
        self.greeted = Some((now, *hello));
        self.set_reliable(self.reliable);
        self.link = Link::Up;
        self.events.push_back(Event::Established { resumed });
    }

    /// The session is over, and its flows with it. What left after `since` has not been acted on.
    fn forget_session(&mut self, why: Why, since: Option<Time>) {
        let Some(mut old) = self.established.take() else {
            return;
        };
        self.figures = Self::sum(self.figures, &old);
        // Where a flow may have been the reason, it is not tried again.
        let may = self.gives_back && matches!(why, Why::PeerBeganAnew | Why::TimedOut);
        let returned = if may {
            old.flows.give_back(since)
        } else {
            Vec::new()
        };
        let ids: OrderedSet<_> = returned.iter().map(|it| it.0).collect();
        for (flow, bytes) in returned {
            self.events.push_back(Event::Returned { flow, bytes });
        }
        for flow in old.flows.ids().filter(|id| !ids.contains(*id)) {
            let code = ResetCode::SessionLost;
            self.events.push_back(Event::Reset { flow, code });
        }
        self.events.push_back(Event::Lost(why));
    }

    fn end(&mut self, now: Time, why: Why, say: bool) {
        let reason = why.to_string();
        if self.established.is_some() {
            self.forget_session(why, None);
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
        if let Some(([UNHEARD], _)) = plane {
            self.peer_unheard = Some(now);
            return;
        }
        let Some(([RELIABLE], frame)) = plane else {
            self.figures.malformed += 1;
            return;
        };
        if it.plane.handle(now, frame).is_err() {
            self.figures.malformed += 1;
        }
        it.flows.on_acknowledged(it.plane.sender.acknowledged());
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
        let unheard = core::mem::take(&mut plane.tell_unheard);
        if sent.is_none() && unheard && self.tells_unheard && !plane.reliable {
            sent = Some(plane.push_unheard(now, out));
        }
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
}
