//! CUBIC as in Linux 6.12 and later (`net/ipv4/tcp_cubic.c`; RFC 9438): the window follows a cubic function of the
//! time since the last loss, centred on the window at that loss, and never falls behind what Reno would have.
//! Fixed-point as there: time in 1/1024 s, C = 410/1024, beta = 717/1024.
//!
//! Where Linux departs from RFC 9438, so does this: the cubic curve is recomputed at most once per jiffy; the Reno
//! estimate grows by one segment per 15/8 windows (alpha 8/15); a timeout forgets the last maximum.
//!
//! Parameters: `slow_start` (how slow start ends; Linux's is `hystart`), with `careful-resume` also `saved_cwnd` in bytes and
//! `saved_rtt` in nanoseconds, and `beta` (what a loss leaves of the window).
//!
//! 1. The cube root is exact; Linux's table with one Newton step errs by about 0.2 %.
//! 2. A target beyond 32 bits saturates where Linux wraps.

use super::startup::Startup;
use super::{CaState, CongestionControl, ControlError, CwndEvent, JIFFY, Made, Parameters, Window};
use bentpipe_base::time::{Nanos, Time};

/// Fixed-point one of beta and of time (units of 1/1024 s).
const ONE: u64 = 1024;
/// What a loss leaves of the window unless a parameter says otherwise: 717/1024, as Linux has it.
const BETA: f64 = 0.7;
/// C in 1/1024 per cubic second: the kernel's `bic_scale` of 41, by the 100 ms RTT that it takes as reference.
const C: u64 = 410;
/// Recompute at an unchanged cwnd only after this long (or the smallest RTT if shorter): HZ/32 jiffies.
const RECOMPUTE_JIFFIES: i64 = 1_000_000_000 / JIFFY.0 / 32;
/// RTT samples are ignored this long after a loss.
const SETTLING: i64 = 1_000_000_000 / JIFFY.0;

/// The curve since the last loss.
#[derive(Debug)]
struct Epoch {
    /// Jiffy of the beginning; moves on over idle time.
    start: i64,
    /// Time from the beginning to the origin (`bic_K`), in 1/1024 s.
    to_origin: u64,
    /// The curve's plateau in segments.
    origin: u32,
}

#[derive(Debug)]
pub struct Cubic {
    epoch: Option<Epoch>,
    /// Acknowledged segments per segment of growth.
    count: u32,
    /// Window at the last loss, reduced by fast convergence; 0 if unknown.
    last_max: u32,
    /// cwnd and jiffy of the last computation.
    last_cwnd: u32,
    last_jiffy: i64,
    /// What Reno's window would be, and the segments acknowledged towards its next one.
    reno_cwnd: u32,
    reno_acked: u32,
    delay_min: Option<Nanos>,
    startup: Startup,
    /// In 1/1024.
    beta: u64,
    /// Windows acknowledged per segment of Reno's growth, in eighths: (1 + beta) / (3 (1 - beta)) (`beta_scale`).
    reno_windows_eighths: u64,
}

impl Cubic {
    pub fn new(parameters: &mut Parameters) -> Result<Self, ControlError> {
        let startup = Startup::named(parameters, "hystart")?;
        let beta = parameters.number("beta", 0.1..=0.95, BETA)?;
        Ok(Self::with(startup, (beta * ONE as f64).round() as u64))
    }

    fn with(startup: Startup, beta: u64) -> Self {
        Self {
            epoch: None,
            count: 0,
            last_max: 0,
            last_cwnd: 0,
            last_jiffy: 0,
            reno_cwnd: 0,
            reno_acked: 0,
            delay_min: None,
            startup,
            beta,
            reno_windows_eighths: 8 * (ONE + beta) / 3 / (ONE - beta),
        }
    }

    /// Sets `count` for this cwnd and time (`bictcp_update`).
    fn update(&mut self, now: Time, cwnd: u32, acked: u32) {
        self.reno_acked += acked;
        let jiffy = jiffies(now);
        let delay = self.delay_min.map_or(0, to_jiffies);
        if self.last_cwnd == cwnd && jiffy - self.last_jiffy <= RECOMPUTE_JIFFIES.min(delay) {
            return;
        }
        if self.epoch.is_none() || jiffy != self.last_jiffy {
            self.last_cwnd = cwnd;
            self.last_jiffy = jiffy;
            self.follow_curve(jiffy, delay, cwnd, acked);
        }
        self.keep_up_with_reno(cwnd);
        self.count = self.count.max(2);
    }

    fn follow_curve(&mut self, jiffy: i64, delay: i64, cwnd: u32, acked: u32) {
        let last_max = self.last_max;
        if self.epoch.is_none() {
            self.reno_acked = acked;
            self.reno_cwnd = cwnd;
        }
        let epoch = self.epoch.get_or_insert_with(|| Epoch {
            start: jiffy,
            to_origin: cube_root((u64::from(last_max.saturating_sub(cwnd)) * ONE.pow(4)) / C),
            origin: last_max.max(cwnd),
        });
        // The curve one smallest RTT from now: these segments are acknowledged then.
        let elapsed = (jiffy - epoch.start + delay) as u64 * ONE * JIFFY.0 as u64 / 1_000_000_000;
        let distance = u128::from(elapsed.abs_diff(epoch.to_origin));
        let height = u32::try_from((u128::from(C) * distance.pow(3)) >> 40).unwrap_or(u32::MAX);
        let target = if elapsed < epoch.to_origin {
            epoch.origin.saturating_sub(height)
        } else {
            epoch.origin.saturating_add(height)
        };
        self.count = if target > cwnd {
            cwnd / (target - cwnd)
        } else {
            100 * cwnd
        };
        if last_max == 0 {
            // Nothing is known of the path: at least 5 % per RTT.
            self.count = self.count.min(20);
        }
    }

    /// The Reno-friendly region (RFC 9438, section 4.3).
    fn keep_up_with_reno(&mut self, cwnd: u32) {
        let per_segment = ((u64::from(cwnd) * self.reno_windows_eighths) >> 3) as u32;
        let steps = self.reno_acked.saturating_sub(1) / per_segment;
        self.reno_acked -= steps * per_segment;
        self.reno_cwnd += steps;
        if self.reno_cwnd > cwnd {
            self.count = self.count.min(cwnd / (self.reno_cwnd - cwnd));
        }
    }
}

pub(super) fn make(parameters: &mut Parameters) -> Made {
    Ok(Box::new(Cubic::new(parameters)?))
}

impl CongestionControl for Cubic {
    fn name(&self) -> &'static str {
        "cubic"
    }

    fn init(&mut self, window: &mut Window) {
        self.startup.restart(window);
    }

    fn ssthresh(&mut self, window: &mut Window) -> u32 {
        self.epoch = None;
        if let Some(ssthresh) = self.startup.on_congestion(window) {
            self.last_max = 0;
            return ssthresh;
        }
        let cwnd = u64::from(window.cwnd);
        // Fast convergence (section 4.7): a flow that lost before its last maximum makes room.
        self.last_max = if window.cwnd < self.last_max {
            (cwnd * (ONE + self.beta) / (2 * ONE)) as u32
        } else {
            window.cwnd
        };
        ((cwnd * self.beta / ONE) as u32).max(2)
    }

    fn cong_avoid(&mut self, window: &mut Window, acked: u32) {
        if !window.is_cwnd_limited() {
            return;
        }
        let left = if window.in_slow_start() {
            self.startup.grow(window, acked)
        } else {
            acked
        };
        if left > 0 {
            self.update(window.now, window.cwnd, left);
            window.additive_increase(self.count, left);
        }
    }

    fn packets_acked(&mut self, window: &mut Window, _acked: u32, rtt: Option<Nanos>) {
        self.startup.on_delivered(window);
        let Some(rtt) = rtt else { return };
        let now = jiffies(window.now);
        if self
            .epoch
            .as_ref()
            .is_some_and(|epoch| now - epoch.start < SETTLING)
        {
            return;
        }
        let rtt = Nanos(rtt.0 / 1000 * 1000).max(Nanos(1000));
        let delay_min = self.delay_min.map_or(rtt, |delay| delay.min(rtt));
        self.delay_min = Some(delay_min);
        if window.in_slow_start() {
            self.startup.on_ack(window, rtt, delay_min);
        }
    }

    fn set_state(&mut self, window: &mut Window, new: CaState) {
        if new == CaState::Loss {
            let startup = std::mem::replace(&mut self.startup, Startup::standard());
            *self = Self::with(startup, self.beta);
            self.startup.restart(window);
        }
    }

    fn cwnd_event(&mut self, window: &mut Window, event: CwndEvent) {
        if event == CwndEvent::CompleteCwr {
            self.startup.on_reduced(window);
        }
        if event != CwndEvent::TxStart {
            return;
        }
        // Idle time does not count on the curve.
        let now = jiffies(window.now);
        let idle = now - jiffies(window.last_sent);
        if let Some(epoch) = self.epoch.as_mut().filter(|_| idle > 0) {
            epoch.start = (epoch.start + idle).min(now);
        }
    }

    fn pacing_percent(&self, window: &Window) -> u32 {
        self.startup.pacing_percent(window)
    }

    fn paces(&self) -> bool {
        self.startup.paces()
    }
}

fn jiffies(time: Time) -> i64 {
    time.0.div_euclid(JIFFY.0)
}

/// Rounded up, as `usecs_to_jiffies`.
fn to_jiffies(span: Nanos) -> i64 {
    (span.0 + JIFFY.0 - 1).div_euclid(JIFFY.0)
}

fn cube_root(of: u64) -> u64 {
    let (mut root, mut rest) = (0_u64, of);
    for shift in (0..=63_u32).rev().step_by(3) {
        root <<= 1;
        let step = 3 * root * (root + 1) + 1;
        if rest >> shift >= step {
            rest -= step << shift;
            root += 1;
        }
    }
    root
}

#[cfg(test)]
#[path = "cubic_tests.rs"]
mod tests;
