//! How slow start grows and what ends it before a loss does: the part that CUBIC and Reno have in common.

use super::Window;
use super::hystart::HyStart;
use super::hystart_plus::HyStartPlus;
use super::search::Search;
use bentpipe_base::time::Nanos;

#[derive(Debug)]
pub enum Startup {
    /// RFC 5681: a loss ends it.
    Standard,
    HyStart(HyStart),
    HyStartPlus(HyStartPlus),
    Search(Box<Search>),
}

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

    /// Slow start begins.
    pub fn restart(&mut self, window: &Window) {
        match self {
            Self::Standard => {}
            Self::HyStart(hystart) => hystart.restart(window),
            Self::HyStartPlus(hystart) => hystart.restart(window),
            Self::Search(search) => search.restart(),
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
        }
    }

    /// Grows cwnd in slow start; returns what of `acked` is left over once ssthresh is reached.
    pub fn grow(&mut self, window: &mut Window, acked: u32) -> u32 {
        match self {
            Self::HyStartPlus(hystart) => hystart.grow(window, acked),
            _ => window.slow_start(acked),
        }
    }
}
