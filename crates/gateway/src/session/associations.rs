//! The flows whose hosts send datagrams: see [`Datagrams`].

use super::datagrams::Wrote;
use super::flows::{Flows, Violation};
use super::{Event, OpenError, ResetCode};
use crate::datagram::{DATAGRAM_MAX_BYTES, Datagram, DatagramFrame, DatagramFrames};
use crate::flow::FlowId;
use crate::frame::FrameError;
use crate::target::Channel;
use bentpipe_base::Time;
use std::collections::VecDeque;
use std::net::SocketAddr;

impl Flows {
    pub fn open_channel(
        &mut self,
        now: Time,
        user: u64,
        channel: Channel,
    ) -> Result<FlowId, OpenError> {
        let id = self.open_with(user, &channel.to_bytes())?;
        self.datagrams.open(now, id, channel);
        Ok(id)
    }

    /// Whether it will be sent, or dropped as the oldest. A flow that carries no datagrams takes none.
    pub fn send_datagram(
        &mut self,
        now: Time,
        id: FlowId,
        address: Option<SocketAddr>,
        bytes: &[u8],
    ) -> bool {
        let Some(association) = self.datagrams.touch(now, id) else {
            return false;
        };
        if bytes.len() > DATAGRAM_MAX_BYTES {
            self.datagrams.too_long += 1;
            return false;
        }
        let address = address.filter(|_| association.channel != Channel::Ip);
        let mut frame = Vec::new();
        let datagram = Datagram {
            flow: id,
            address,
            bytes,
        };
        datagram.write(&mut frame);
        frame.shrink_to_fit();
        self.datagrams.sent += 1;
        self.datagrams.sent_bytes += bytes.len() as u64;
        self.datagrams.leaving.push(now, id, frame);
        while let Some(other) = self.datagrams.leaving.drop_if_over() {
            self.look_for_work(other);
        }
        self.look_for_work(id);
        true
    }

    /// A packet of the second plane came.
    pub fn on_datagrams(&mut self, now: Time, packet: &[u8]) -> Result<(), Broken> {
        self.datagrams.arriving.expire(now);
        for frame in DatagramFrames::of(packet) {
            match frame? {
                DatagramFrame::Whole(datagram) => self.on_datagram(now, datagram)?,
                DatagramFrame::Piece(piece) => {
                    let whole = self.datagrams.arriving.on_piece(now, &piece);
                    let Some(whole) = whole.map_err(Violation::Piece)? else {
                        continue;
                    };
                    let mut frames = DatagramFrames::of(&whole);
                    match (frames.next().transpose()?, frames.next()) {
                        (Some(DatagramFrame::Whole(datagram)), None) => {
                            self.on_datagram(now, datagram)?;
                        }
                        _ => return Err(Violation::Whole.into()),
                    }
                }
            }
        }
        Ok(())
    }

    fn on_datagram(&mut self, now: Time, datagram: Datagram<'_>) -> Result<(), Violation> {
        let id = datagram.flow;
        let is_known = self.is_known(id)?;
        if !is_known {
            self.datagrams.arriving.keep_early(now, datagram.into());
        } else if let Some(association) = self.datagrams.touch(now, id) {
            if association.channel == Channel::Ip && datagram.address.is_some() {
                return Err(Violation::NoDatagrams(id));
            }
            self.datagrams.arriving.deliver(datagram.into());
        } else if self.has(id) {
            return Err(Violation::NoDatagrams(id));
        } else {
            self.datagrams.late += 1;
        }
        Ok(())
    }

    /// Ends associations that were idle for too long, and forgets what has waited for too long.
    pub fn end_idle(&mut self, now: Time, events: &mut VecDeque<Event>) {
        self.datagrams.arriving.expire(now);
        while let Some(flow) = self.datagrams.next_idle(now) {
            let code = ResetCode::TimedOut;
            self.reset(flow, code);
            events.push_back(Event::Reset { flow, code });
        }
    }

    /// Whether the next packet is one with datagrams: if it is their turn, or no other packet can be sent now.
    pub fn are_datagrams_next(&mut self, others_may: bool) -> bool {
        if self.datagrams.leaving.is_empty() {
            return false;
        }
        !others_may || !self.has_control() && self.next_in_turn().is_some()
    }

    /// The flow whose datagram is next, if the next one is no byte stream.
    fn next_in_turn(&mut self) -> Option<FlowId> {
        let (_, id, _) = self.scheduler.next()?;
        let id = FlowId(id);
        let is_datagram = self.datagrams.leaving.has(id) && !self.has_bytes(id);
        is_datagram.then_some(id)
    }

    /// Fills a packet with datagrams. Whether there is anything in it: all may have been too old.
    pub fn fill_datagrams(
        &mut self,
        now: Time,
        max: usize,
        others_may: bool,
        out: &mut Vec<u8>,
    ) -> bool {
        let start = out.len();
        loop {
            let next = if others_may {
                self.next_in_turn()
            } else {
                self.datagrams.leaving.in_rotation()
            };
            let Some(id) = next else {
                break;
            };
            let before = out.len();
            let room = start + max - before;
            let leaving = &mut self.datagrams.leaving;
            let wrote = leaving.write_next(now, id, [room, max], out);
            self.charge(id, out.len() - before);
            self.look_for_work(id);
            if wrote == Wrote::NoRoom {
                break;
            }
        }
        out.len() > start
    }
}

/// What the other gateway did against the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    Frame(FrameError),
    Rule(Violation),
}

impl From<FrameError> for Broken {
    fn from(error: FrameError) -> Self {
        Self::Frame(error)
    }
}

impl From<Violation> for Broken {
    fn from(violation: Violation) -> Self {
        Self::Rule(violation)
    }
}

impl core::fmt::Display for Broken {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Frame(error) => error.fmt(f),
            Self::Rule(Violation::Receive(flow, error)) => write!(f, "flow {flow}: {error}"),
            Self::Rule(Violation::SessionCredit) => {
                f.write_str("more bytes than the session has credit for")
            }
            Self::Rule(Violation::FlowsCredit(flow)) => {
                write!(f, "flow {flow}: more flows than there is credit for")
            }
            Self::Rule(Violation::NeverOpened(flow)) => write!(f, "flow {flow} was never opened"),
            Self::Rule(Violation::NoDatagrams(flow)) => {
                write!(f, "flow {flow}: a datagram that it does not take")
            }
            Self::Rule(Violation::Piece(error)) => write!(f, "pieces of a datagram: {error}"),
            Self::Rule(Violation::Whole) => f.write_str("pieces that are not one datagram"),
        }
    }
}
