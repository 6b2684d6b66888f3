//! How slow start grows and what ends it before a loss does: the part that CUBIC and Reno have in common.

use super::careful_resume::{CarefulResume, Saved};
use super::hystart::HyStart;
use super::hystart_plus::HyStartPlus;
use super::search::Search;
use super::{ControlError, Parameters, Window};
use bentpipe_base::time::Nanos;

#[derive(Debug)]
pub enum Startup {
    /// RFC 5681: a loss ends it.
    Standard,
    HyStart(HyStart),
    HyStartPlus(HyStartPlus),
    Search(Box<Search>),
    CarefulResume(Box<CarefulResume>),
}

/// A slow start that is named by the parameter `slow_start`, with its own parameters.
pub type Make = fn(&mut Parameters) -> Result<Startup, ControlError>;

/// A connection's saved window, in bytes: from a segment to a terabyte.
const SAVED_CWND_BYTES: std::ops::RangeInclusive<f64> = 1e3..=1e12;
/// A saved RTT, in nanoseconds: from a microsecond to an hour.
const SAVED_RTT_NS: std::ops::RangeInclusive<f64> = 1e3..=3.6e12;

impl Startup {
    pub const fn standard() -> Self {
        Self::Standard
    }

    pub const fn hystart() -> Self {
        Self::HyStart(HyStart::new())
    }

    pub fn hystart_plus() -> Self {
        Self::HyStartPlus(HyStartPlus::default())
    }

    pub fn search() -> Self {
        Self::Search(Box::default())
    }

    /// The slow start that the parameters name, one of these or the first of them.
    pub fn named(parameters: &mut Parameters, default: &'static str) -> Result<Self, ControlError> {
        let all: [(&'static str, Make); 5] = [
            ("standard", |_| Ok(Self::standard())),
            ("hystart", |_| Ok(Self::hystart())),
            ("hystart++", |_| Ok(Self::hystart_plus())),
            ("search", |_| Ok(Self::search())),
            ("careful-resume", Self::careful_resume),
        ];
        let make = parameters.one_of("slow_start", &all, default)?;
        make(parameters)
    }

    fn careful_resume(parameters: &mut Parameters) -> Result<Self, ControlError> {
        let saved = Saved {
            cwnd_bytes: parameters.required("saved_cwnd", SAVED_CWND_BYTES)? as u64,
            rtt: Nanos(parameters.required("saved_rtt", SAVED_RTT_NS)? as i64),
        };
        Ok(Self::CarefulResume(Box::new(CarefulResume::new(saved))))
    }

    /// Slow start begins.
    pub fn restart(&mut self, window: &Window) {
        match self {
            Self::Standard => {}
            Self::HyStart(hystart) => hystart.restart(window),
            Self::HyStartPlus(hystart) => hystart.restart(window),
            Self::Search(search) => search.restart(),
            Self::CarefulResume(resume) => resume.restart(window),
        }
    }

    /// An ACK in slow start with this RTT; `delay_min` is the smallest of the connection. Sets ssthresh where slow start is
    /// to end.
    pub fn on_ack(&mut self, window: &mut Window, rtt: Nanos, delay_min: Nanos) {
        match self {
            Self::Standard => {}
            Self::HyStart(hystart) => hystart.on_ack(window, rtt, delay_min),
            Self::HyStartPlus(hystart) => hystart.on_ack(window, rtt),
            Self::Search(search) => search.on_ack(window, rtt),
            Self::CarefulResume(resume) => resume.on_ack(window, rtt, delay_min),
        }
    }

    /// Grows cwnd in slow start; returns what of `acked` is left over once ssthresh is reached.
    pub fn grow(&mut self, window: &mut Window, acked: u32) -> u32 {
        match self {
            Self::HyStartPlus(hystart) => hystart.grow(window, acked),
            Self::CarefulResume(resume) => resume.grow(window, acked),
            _ => window.slow_start(acked),
        }
    }

    /// Each ACK that delivers something, whether in slow start or not.
    pub fn on_delivered(&mut self, window: &mut Window) {
        if let Self::CarefulResume(resume) = self {
            resume.on_delivered(window);
        }
    }

    /// A loss or an ECN echo: the new ssthresh, where slow start decides it.
    pub fn on_congestion(&mut self, window: &Window) -> Option<u32> {
        match self {
            Self::CarefulResume(resume) => resume.on_congestion(window),
            _ => None,
        }
    }

    /// A reduction of the window is complete.
    pub fn on_reduced(&mut self, window: &mut Window) {
        if let Self::CarefulResume(resume) = self {
            resume.on_reduced(window);
        }
    }

    /// Whether what leaves is spaced at one window per RTT.
    pub fn paces(&self) -> bool {
        matches!(self, Self::CarefulResume(resume) if resume.paces())
    }

    /// The pacing rate in percent of a window per RTT.
    pub fn pacing_percent(&self, window: &Window) -> u32 {
        if self.paces() {
            100
        } else {
            window.pacing_percent()
        }
    }
}
