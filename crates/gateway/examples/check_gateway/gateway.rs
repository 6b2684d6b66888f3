//! One gateway with its hosts: what it does at each moment of virtual time.

use crate::host::{Outcome, Side};
use crate::scenario::Scenario;
use crate::talk::{Talk, Watch};
use bentpipe_base::{Nanos, Time};
use bentpipe_fec::Policy;
use bentpipe_gateway::{Config, Event, Role, Session, Target, null};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The longest datagram that the carrier takes.
const MAX_DATAGRAM: usize = 1400;
const OUTER: u32 = 28 + null::OVERHEAD_BYTES as u32;
pub struct Gateway {
    pub role: Role,
    pub session: Session,
    pub carrier: null::Carrier,
    pub sides: Vec<Side>,
    pub talks: Vec<Talk>,
    /// What has come since it was started.
    pub watch: Watch,
    pub starts: u64,
    /// When near tries to connect again.
    pub connect_at: Option<Time>,
}

/// What a gateway says and sends at one moment.
#[derive(Default)]
pub struct Turn {
    pub said: Vec<String>,
    /// And what each packet is.
    pub packets: Vec<(Vec<u8>, String)>,
}

pub fn config(scenario: &Scenario) -> Config {
    let mut config = Config::with_rate(scenario.law, OUTER);
    config.takes_udp = true;
    config.takes_ip = true;
    config.association_idle = Nanos::from_secs(20);
    if !scenario.repairs {
        config.redundancy = Policy::Off;
    }
    if scenario.small_windows {
        config.session_window = 200_000;
        config.flow_window = 100_000;
        config.flow_start_window = 70_000;
        config.send_buffer = 5000;
        config.max_flows = 4;
        config.kept_packets = 300;
        config.datagram_packets = 256;
        config.datagram_buffer = 1 << 17;
    }
    config
}

impl Gateway {
    pub fn new(scenario: &Scenario, role: Role, starts: u64) -> Self {
        let number = scenario.seed.wrapping_mul(4) + role as u64 * 2 + (starts << 32);
        let talks = scenario.streams.iter().enumerate();
        let talks = talks
            .map(|(place, it)| Talk::new(place, it, role))
            .collect();
        let sides = scenario.transfers.iter().enumerate();
        let sides = sides
            .map(|(place, it)| Side::new(place, it, role))
            .collect();
        let session = Session::new(config(scenario), role, number, number + 1);
        let carrier = match role {
            Role::Near => null::Carrier::near(number + 7),
            Role::Far => null::Carrier::far(number + 7),
        };
        Self {
            role,
            session: session.expect("settings that work"),
            carrier,
            sides,
            talks,
            watch: Watch::default(),
            starts,
            connect_at: (role == Role::Near).then_some(Time::ZERO),
        }
    }

    /// Whether anything happened. `may_lose` becomes true where it connects anew without knowing of a session; `wake` is when a host wants its turn.
    pub fn turn(
        &mut self,
        now: Time,
        scenario: &Scenario,
        may_lose: &mut bool,
        wake: &mut Time,
    ) -> Result<(bool, Turn), String> {
        let mut turn = Turn::default();
        let mut moved = false;
        if self.connect_at.is_some_and(|at| at <= now) {
            self.connect_at = None;
            *may_lose |= !self.session.has_session() && now > Time::ZERO;
            self.session.on_carrier_lost(now);
            self.carrier.connect();
        }
        while let Some(event) = self.carrier.poll_event() {
            match event {
                null::Event::Connected => self.session.on_carrier_connected(now, MAX_DATAGRAM),
                null::Event::Lost => {
                    self.session.on_carrier_lost(now);
                    self.connect_at = Some(now + Nanos::from_millis(200));
                }
                null::Event::Control(message) => self.session.handle_control(now, &message),
            }
            moved = true;
        }
        self.session.handle_timeout(now);
        while let Some(event) = self.session.poll_event() {
            turn.said.push(format!("{:?}: {event:?}", self.role));
            match event {
                Event::Opened { flow, target } => {
                    let place = usize::from(target.source.port());
                    self.session.set_user(flow, place as u64 % 3);
                    let side = &mut self.sides[place];
                    if side.flow.is_some() && side.outcome != Outcome::Reset {
                        return Err(format!("transfer {place} was opened twice"));
                    }
                    side.begin(flow);
                }
                Event::OpenedChannel { flow, channel } => {
                    let place = Talk::place_of(channel, &scenario.streams)
                        .ok_or_else(|| format!("nobody opened {channel:?}"))?;
                    self.session.set_user(flow, place as u64 % 3);
                    self.talks[place].begin(now, flow);
                }
                Event::Returned { flow, .. } => {
                    return Err(format!(
                        "flow {flow} was given back, and nobody asked for that"
                    ));
                }
                Event::Reset { flow, code } => {
                    let talks = self.talks.iter_mut();
                    talks.filter(|it| it.flow == Some(flow)).for_each(Talk::end);
                    for side in self.sides.iter_mut().filter(|it| it.flow == Some(flow)) {
                        side.on_reset(code);
                    }
                }
                Event::Lost(_) => {
                    if self.role == Role::Near && !self.session.is_up() {
                        self.connect_at = Some(now + Nanos::from_millis(200));
                    }
                }
                Event::Established { resumed: false } => {
                    self.talks.iter_mut().for_each(Talk::forget);
                }
                Event::Established { .. }
                | Event::Readable(_)
                | Event::Writable(_)
                | Event::OpenedNamed { .. } => {}
            }
            moved = true;
        }
        for side in &mut self.sides {
            if let Some(at) = side.act(now, &mut self.session)? {
                *wake = (*wake).min(at);
            }
        }
        while let Some(received) = self.session.poll_received() {
            let talk = self.talks.iter_mut().find(|it| it.is_of(received.flow));
            let talk = talk.ok_or("a datagram of no association")?;
            talk.on_received(&received)?;
            moved = true;
        }
        for talk in &mut self.talks {
            if let Some(at) = talk.act(now, &mut self.session)? {
                *wake = (*wake).min(at);
            }
        }
        while let Some(message) = self.session.poll_control() {
            self.carrier.send_control(message);
            moved = true;
        }
        let mut out = Vec::new();
        while self.carrier.poll_transmit(now, &mut out) {
            turn.packets
                .push((core::mem::take(&mut out), "carrier".to_owned()));
        }
        let mut datagram = Vec::new();
        while let Some(sent) = self.session.poll_datagram(now, &mut datagram) {
            self.carrier.wrap(&datagram, &mut out);
            turn.packets
                .push((core::mem::take(&mut out), format!("{:?}", sent.kind)));
            datagram.clear();
        }
        moved |= !turn.packets.is_empty();
        Ok((moved, turn))
    }
}

/// Every second one is longer, so that it is divided between packets now and then.
pub fn target(place: usize) -> Target {
    let at = |last: u8, port| {
        let v4 = Ipv4Addr::new(10, 0, 0, last);
        let v6 = v4.to_ipv6_mapped();
        let ip = if place.is_multiple_of(2) {
            IpAddr::from(v4)
        } else {
            v6.into()
        };
        SocketAddr::new(ip, port)
    };
    Target {
        destination: at(1, 80),
        source: at(2, place as u16),
    }
}
