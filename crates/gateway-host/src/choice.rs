//! Which carrier near's session uses: QUIC first, TLS over TCP where UDP gets no answer, and QUIC again when it does. No I/O and no
//! clock: the driver says what happens, and asks what to do.
//!
//! | | the session has | what happens |
//! |---|---|---|
//! | at first | no carrier | QUIC connects. Without an answer for `answer_within`, TLS connects beside it. The first that is there is used |
//! | usually | QUIC | if nothing comes for `answer_within` though an answer is due, TLS connects. If it is there and QUIC is still silent `confirm` later, TLS is used |
//! | UDP is blocked | TLS | QUIC is tried after `again_first`, then after twice as long, up to `again_most`. If it connects, it is used |
//!
//! A carrier that is no longer used is dropped. After an outage of the whole path QUIC is heard first, so the session stays with it.

use std::time::{Duration, Instant};

/// How long the choice of the carrier waits for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChoiceConfig {
    /// UDP that brings no answer for so long is taken to be blocked.
    pub answer_within: Duration,
    /// TLS that is there while QUIC is silent waits so long for it.
    pub confirm: Duration,
    /// A TCP connection or a handshake over it that takes longer is given up.
    pub tcp_within: Duration,
    /// With TLS in use, QUIC is tried after this. The time doubles with each failure.
    pub again_first: Duration,
    pub again_most: Duration,
}

impl Default for ChoiceConfig {
    fn default() -> Self {
        Self {
            answer_within: Duration::from_secs(3),
            confirm: Duration::from_millis(500),
            tcp_within: Duration::from_secs(10),
            again_first: Duration::from_secs(10),
            again_most: Duration::from_mins(5),
        }
    }
}

/// Without any carrier, each connects again after a pause, which doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Quic,
    Tls,
}

/// What the driver is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Begin a connection. `on_connected` or `on_ended` says what became of it.
    Connect(Kind),
    /// Take the session to this connection, which is there.
    Use(Kind),
    /// Close the connection, or the attempt. Nothing more is said of it.
    Drop(Kind),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Since then.
    Idle(Instant),
    Connecting(Instant),
    Connected(Instant),
}

#[derive(Debug)]
pub(crate) struct Choice {
    config: ChoiceConfig,
    /// Whether there may be TLS at all.
    has_tls: bool,
    quic: State,
    tls: State,
    carrier: Option<Kind>,
    /// Since when there is no carrier, or QUIC, which is in use, owes an answer.
    unanswered: Option<Instant>,
    /// Between attempts: of each without a carrier, and of QUIC beside TLS.
    quic_pause: Duration,
    tls_pause: Duration,
    again: Duration,
}

impl Choice {
    /// The driver has begun to connect with QUIC.
    pub fn new(config: ChoiceConfig, now: Instant) -> Self {
        Self {
            config,
            has_tls: false,
            quic: State::Connecting(now),
            tls: State::Idle(now),
            carrier: None,
            unanswered: Some(now),
            quic_pause: Duration::ZERO,
            tls_pause: Duration::ZERO,
            again: config.again_first,
        }
    }

    /// There can be TLS, too.
    pub fn allow_tls(&mut self) {
        self.has_tls = true;
    }

    fn state(&mut self, kind: Kind) -> &mut State {
        match kind {
            Kind::Quic => &mut self.quic,
            Kind::Tls => &mut self.tls,
        }
    }

    pub fn on_connected(&mut self, now: Instant, kind: Kind) {
        *self.state(kind) = State::Connected(now);
    }

    /// A connection or an attempt has ended by itself.
    pub fn on_ended(&mut self, now: Instant, kind: Kind) {
        *self.state(kind) = State::Idle(now);
        match kind {
            Kind::Quic if self.carrier == Some(Kind::Tls) => self.try_less_often(),
            Kind::Quic => self.quic_pause = longer(self.quic_pause),
            Kind::Tls => self.tls_pause = longer(self.tls_pause),
        }
        if self.carrier == Some(kind) {
            self.carrier = None;
            // UDP was found to be blocked: TLS need not wait for it again.
            let known = now.checked_sub(self.config.answer_within);
            let known = known.filter(|_| kind == Kind::Tls);
            self.unanswered = Some(known.unwrap_or(now));
        }
    }

    fn try_less_often(&mut self) {
        self.again = (2 * self.again).min(self.config.again_most);
    }

    /// There is a session over the carrier: the next failure is a new one.
    pub fn on_established(&mut self) {
        self.quic_pause = Duration::ZERO;
        self.tls_pause = Duration::ZERO;
    }

    /// Since when QUIC owes an answer, if it does.
    pub fn on_quic_silence(&mut self, since: Option<Instant>) {
        if self.carrier == Some(Kind::Quic) {
            self.unanswered = since;
        }
    }

    /// What is due. To be asked until there is nothing.
    pub fn poll(&mut self, now: Instant) -> Option<Action> {
        if self.due().is_none_or(|(at, _)| at > now) {
            return None;
        }
        let (_, action) = self.due()?;
        match action {
            Action::Connect(kind) => *self.state(kind) = State::Connecting(now),
            Action::Drop(kind) => {
                if kind == Kind::Tls && self.carrier.is_none() {
                    self.tls_pause = longer(self.tls_pause);
                }
                *self.state(kind) = State::Idle(now);
            }
            Action::Use(Kind::Quic) => {
                self.carrier = Some(Kind::Quic);
                self.unanswered = None;
            }
            Action::Use(Kind::Tls) => {
                // UDP worked for a short time only: it is tried less and less.
                if let (Some(Kind::Quic), State::Connected(since)) = (self.carrier, self.quic) {
                    if now - since < self.config.again_most {
                        self.try_less_often();
                    } else {
                        self.again = self.config.again_first;
                    }
                }
                self.carrier = Some(Kind::Tls);
                self.unanswered = None;
            }
        }
        Some(action)
    }

    /// When to ask again, if nothing else happens.
    pub fn timeout(&self) -> Option<Instant> {
        self.due().map(|it| it.0)
    }

    /// The next action, and when.
    fn due(&self) -> Option<(Instant, Action)> {
        let both = [self.quic_due(), self.tls_due()];
        both.into_iter().flatten().min_by_key(|it| it.0)
    }

    fn quic_due(&self) -> Option<(Instant, Action)> {
        match (self.quic, self.carrier) {
            // The endpoint gives up a handshake by itself.
            (State::Connected(_), Some(Kind::Quic)) | (State::Connecting(_), _) => None,
            // It was silent, and was left. Another attempt shows whether it works again.
            (State::Connected(since), Some(Kind::Tls)) if self.tls_since() > since => {
                Some((since, Action::Drop(Kind::Quic)))
            }
            (State::Connected(since), _) => Some((since, Action::Use(Kind::Quic))),
            (State::Idle(since), Some(Kind::Tls)) => {
                Some((since + self.again, Action::Connect(Kind::Quic)))
            }
            (State::Idle(since), _) => Some((since + self.quic_pause, Action::Connect(Kind::Quic))),
        }
    }

    fn tls_since(&self) -> Instant {
        let (State::Idle(since) | State::Connecting(since) | State::Connected(since)) = self.tls;
        since
    }

    fn tls_due(&self) -> Option<(Instant, Action)> {
        if !self.has_tls {
            return None;
        }
        let answered = self.carrier == Some(Kind::Quic) && self.unanswered.is_none();
        match self.tls {
            State::Connected(_) if self.carrier == Some(Kind::Tls) => None,
            State::Connected(since) | State::Connecting(since) if answered => {
                Some((since, Action::Drop(Kind::Tls)))
            }
            State::Connecting(since) => {
                Some((since + self.config.tcp_within, Action::Drop(Kind::Tls)))
            }
            State::Connected(since) if self.carrier == Some(Kind::Quic) => {
                Some((since + self.config.confirm, Action::Use(Kind::Tls)))
            }
            State::Connected(since) => Some((since, Action::Use(Kind::Tls))),
            State::Idle(since) => {
                let silent = self.unanswered? + self.config.answer_within;
                let again = since + self.tls_pause;
                Some((silent.max(again), Action::Connect(Kind::Tls)))
            }
        }
    }
}

fn longer(pause: Duration) -> Duration {
    (2 * pause).clamp(FIRST_PAUSE, LONGEST_PAUSE)
}

#[cfg(test)]
mod tests;
