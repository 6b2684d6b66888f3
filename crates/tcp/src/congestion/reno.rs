//! Reno as in Linux (`net/ipv4/tcp_cong.c`, RFC 5681 with the byte counting of RFC 3465): one segment per window
//! in congestion avoidance, half the window on loss.
//!
//! Parameters: `slow_start`, how slow start ends (Linux's is `standard`), and those that it brings (cubic.rs).

use super::startup::Startup;
use super::{CaState, CongestionControl, ControlError, CwndEvent, Made, Parameters, Window};
use bentpipe_base::time::Nanos;

#[derive(Debug)]
pub struct Reno {
    startup: Startup,
}

impl Reno {
    /// As Linux has it.
    pub const fn plain() -> Self {
        Self {
            startup: Startup::standard(),
        }
    }

    pub fn new(parameters: &mut Parameters) -> Result<Self, ControlError> {
        let startup = Startup::named(parameters, "standard")?;
        Ok(Self { startup })
    }
}

pub(super) fn make(parameters: &mut Parameters) -> Made {
    Ok(Box::new(Reno::new(parameters)?))
}

#[cfg(test)]
impl Reno {
    /// Made as a lab makes it.
    pub fn of(choice: &super::Choice) -> Self {
        choice.with_parameters(Self::new).expect("known parameters")
    }

    pub fn careful_resume(&self) -> Option<&super::careful_resume::CarefulResume> {
        match &self.startup {
            Startup::CarefulResume(resume) => Some(resume),
            _ => None,
        }
    }
}

impl CongestionControl for Reno {
    fn name(&self) -> &'static str {
        "reno"
    }

    fn init(&mut self, window: &mut Window) {
        self.startup.restart(window);
    }

    fn ssthresh(&mut self, window: &mut Window) -> u32 {
        let safe = self.startup.on_congestion(window);
        safe.unwrap_or((window.cwnd / 2).max(2))
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
            window.additive_increase(window.cwnd, left);
        }
    }

    fn packets_acked(&mut self, window: &mut Window, _acked: u32, rtt: Option<Nanos>) {
        self.startup.on_delivered(window);
        if let Some(rtt) = rtt.filter(|_| window.in_slow_start()) {
            self.startup.on_ack(window, rtt, rtt);
        }
    }

    fn cwnd_event(&mut self, window: &mut Window, event: CwndEvent) {
        if event == CwndEvent::CompleteCwr {
            self.startup.on_reduced(window);
        }
    }

    fn pacing_percent(&self, window: &Window) -> u32 {
        self.startup.pacing_percent(window)
    }

    fn paces(&self) -> bool {
        self.startup.paces()
    }

    fn set_state(&mut self, window: &mut Window, new: CaState) {
        if new == CaState::Loss {
            self.startup.restart(window);
        }
    }
}
