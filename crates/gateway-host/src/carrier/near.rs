//! Near's part: it decides which connection carries the session.

use super::{Carrier, Line};
use crate::choice::{Action, Choice, Kind};
use crate::clock::Now;
use crate::tcp::LinkId;
use bentpipe_carrier::PeerId;
use bentpipe_gateway::Session;
use std::time::{Duration, Instant};

/// Near's connections and attempts, and which of them it uses.
#[derive(Debug)]
pub(super) struct Near {
    pub choice: Choice,
    pub quic: Option<PeerId>,
    pub tls: Option<LinkId>,
    /// Since when QUIC is heard, but does not bring what the session sends.
    deaf_since: Option<Instant>,
}

/// QUIC that was heard within so long is there: it is asked for an answer four times a second.
const HEARD_WITHIN: Duration = Duration::from_millis(1500);

impl Near {
    pub fn new(choice: Choice, quic: Option<PeerId>) -> Self {
        Self {
            choice,
            quic,
            tls: None,
            deaf_since: None,
        }
    }

    pub fn has(&self, line: Line) -> bool {
        match line {
            Line::Quic(peer) => self.quic == Some(peer),
            Line::Tls(link) => self.tls == Some(link),
        }
    }

    pub fn forget(&mut self, line: Line) {
        match line {
            Line::Quic(_) => self.quic = None,
            Line::Tls(_) => self.tls = None,
        }
    }
}

impl Carrier {
    pub(super) fn look_for_silence(&mut self) {
        if let Some(near) = &mut self.near
            && let Some(peer) = near.quic
        {
            let since = self.endpoint.unanswered_since(peer);
            let since = since.into_iter().chain(near.deaf_since).min();
            near.choice.on_quic_silence(since);
        }
    }

    /// Where the whole path is out, QUIC is silent, too. When it is back, QUIC is heard first and the session's probes are answered soon after.
    fn look_for_deafness(&mut self, now: Now, session: &Session) {
        let Some(near) = &mut self.near else {
            return;
        };
        let heard = near.quic.and_then(|peer| self.endpoint.last_heard(peer));
        let is_heard = heard.is_some_and(|at| at + HEARD_WITHIN > now.instant);
        let carries = matches!(self.line, Some(Line::Quic(_)));
        near.deaf_since = if carries && is_heard && session.is_unheard(now.time) {
            near.deaf_since.or(Some(now.instant))
        } else {
            None
        };
    }

    /// Near: connects, takes the session from one connection to another, and drops what is no longer needed.
    pub(super) fn choose(&mut self, now: Now, session: &mut Session) {
        self.look_for_deafness(now, session);
        self.look_for_silence();
        while let Some(near) = &mut self.near
            && let Some(action) = near.choice.poll(now.instant)
        {
            match action {
                Action::Connect(Kind::Quic) => {
                    near.quic = self.endpoint.connect(now.instant).ok();
                    if near.quic.is_none() {
                        near.choice.on_ended(now.instant, Kind::Quic);
                    }
                }
                Action::Connect(Kind::Tls) => {
                    near.tls = self.tcp.as_mut().and_then(|it| it.connect(now.instant));
                    if near.tls.is_none() {
                        near.choice.on_ended(now.instant, Kind::Tls);
                    }
                }
                Action::Use(kind) => {
                    let line = match kind {
                        Kind::Quic => near.quic.map(Line::Quic),
                        Kind::Tls => near.tls.map(Line::Tls),
                    };
                    if let Some(line) = line {
                        self.take_session_to(line, now, session);
                    }
                }
                Action::Drop(kind) => {
                    let line = match kind {
                        Kind::Quic => near.quic.take().map(Line::Quic),
                        Kind::Tls => near.tls.take().map(Line::Tls),
                    };
                    if let Some(line) = line {
                        self.close_line(now, line, 0, "the other carrier is used");
                    }
                }
            }
        }
    }
}
