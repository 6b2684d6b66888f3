//! When the path is asked whether it still carries packets: a probe is the newest packet once more.

use bentpipe_base::{Nanos, Time};

/// Before a round trip has been measured.
const FIRST: Nanos = Nanos::from_secs(1);
/// Between two probes while nothing comes back: once the path carries packets again, this much is lost at most.
const AGAIN: Nanos = Nanos::from_millis(250);

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Probe {
    /// Smoothed round trip and its variation, as RFC 6298 has them, in nanoseconds.
    estimate: Option<(i64, i64)>,
    /// When a report came last, or the first packet left that is not reported.
    news: Option<Time>,
    last: Option<Time>,
}

impl Probe {
    pub fn round_trip(&self) -> Option<Nanos> {
        self.estimate.map(|(smoothed, _)| Nanos(smoothed))
    }

    /// A packet leaves. `outstanding`: others before it are not reported yet.
    pub fn on_sent(&mut self, now: Time, outstanding: bool) {
        if !outstanding || self.news.is_none() {
            self.news = Some(now);
            self.last = None;
        }
    }

    pub fn on_report(&mut self, now: Time, round_trip: Option<Nanos>) {
        self.news = Some(now);
        self.last = None;
        let Some(Nanos(sample)) = round_trip else {
            return;
        };
        let sample = sample.max(0);
        self.estimate = Some(match self.estimate {
            None => (sample, sample / 2),
            Some((smoothed, variation)) => (
                smoothed + (sample - smoothed) / 8,
                variation + ((sample - smoothed).abs() - variation) / 4,
            ),
        });
    }

    /// After so long a report is overdue. `report_every`: reports wait that long for each other.
    pub fn timeout(&self, report_every: Nanos) -> Nanos {
        let base = self.estimate.map_or(FIRST.0, |(smoothed, variation)| {
            smoothed + (4 * variation).max(smoothed / 8)
        });
        Nanos(base + 2 * report_every.0)
    }

    /// When the next probe is due while packets are outstanding.
    pub fn due(&self, report_every: Nanos) -> Time {
        let first = self.news.unwrap_or(Time::ZERO) + self.timeout(report_every);
        self.last.map_or(first, |last| first.max(last + AGAIN))
    }

    pub fn on_probe(&mut self, now: Time) {
        self.last = Some(now);
    }

    /// A probe has been sent and nothing came since: what is sent now would be lost, too.
    pub fn is_unanswered(&self) -> bool {
        self.last.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORTS: Nanos = Nanos::from_millis(20);

    #[test]
    fn probes_begin_when_a_report_is_overdue_and_go_on_four_times_a_second() {
        let mut probe = Probe::default();
        probe.on_sent(Time::ZERO, false);
        assert_eq!(probe.due(REPORTS), Time(1_040_000_000));
        let half = Nanos::from_millis(500);
        for at in 0..100 {
            probe.on_report(Time(at), Some(half));
        }
        assert_eq!(probe.round_trip(), Some(half));
        // A steady round trip: an eighth of it is added.
        assert_eq!(probe.due(REPORTS), Time(99 + 602_500_000));
        probe.on_probe(Time(700_000_000));
        assert!(probe.is_unanswered());
        assert_eq!(probe.due(REPORTS), Time(950_000_000));
        probe.on_report(Time(800_000_000), None);
        assert!(!probe.is_unanswered());
        assert_eq!(probe.due(REPORTS), Time(800_000_000 + 602_500_000));
    }
}
