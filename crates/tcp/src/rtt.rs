//! Round-trip time: RFC 6298 as Linux computes it (`tcp_rtt_estimator`: the mean deviation's maximum over each
//! round, a fine gain where the RTT falls, 200 ms as the least variance term), and the minimum over a window of
//! 300 s by Nichols's three-sample filter (`lib/win_minmax.c`).

use bentpipe_base::time::{Nanos, Time};

pub const RTO_MIN: Nanos = Nanos::from_millis(200);
pub const RTO_MAX: Nanos = Nanos::from_secs(120);
pub const RTO_INITIAL: Nanos = Nanos::from_secs(1);
const MIN_WINDOW: Nanos = Nanos::from_secs(300);

#[derive(Clone, Copy, Debug)]
pub struct Rtt {
    /// 8 x srtt.
    srtt8: i64,
    /// 4 x mean deviation.
    deviation4: i64,
    deviation4_max: i64,
    pub rttvar: i64,
    round_end: u64,
    pub rto: Nanos,
    minimum: [(Time, i64); 3],
    seen: bool,
}

impl Default for Rtt {
    fn default() -> Self {
        Self {
            srtt8: 0,
            deviation4: RTO_INITIAL.0,
            deviation4_max: 0,
            rttvar: 0,
            round_end: 0,
            rto: RTO_INITIAL,
            minimum: [(Time::ZERO, i64::MAX); 3],
            seen: false,
        }
    }
}

impl Rtt {
    pub fn srtt(&self) -> Nanos {
        Nanos(self.srtt8 >> 3)
    }

    /// [`srtt`](Self::srtt), once there is one.
    pub fn smoothed(&self) -> Option<Nanos> {
        (self.srtt8 != 0).then(|| self.srtt())
    }

    pub fn minimum(&self) -> Option<Nanos> {
        self.seen.then_some(Nanos(self.minimum[0].1))
    }

    /// RFC 6298's update with a valid sample; sets the RTO without back-off.
    pub fn sample(&mut self, rtt: Nanos, snd_una: u64, snd_nxt: u64) {
        let mut m = rtt.0.max(1000);
        if self.srtt8 == 0 {
            self.srtt8 = m << 3;
            self.deviation4 = m << 1;
            self.rttvar = self.deviation4.max(RTO_MIN.0);
            self.deviation4_max = self.rttvar;
            self.round_end = snd_nxt;
        } else {
            m -= self.srtt8 >> 3;
            self.srtt8 += m;
            if m < 0 {
                m = -m - (self.deviation4 >> 2);
                // A fall of the RTT must not raise the variance at full gain.
                if m > 0 {
                    m >>= 3;
                }
            } else {
                m -= self.deviation4 >> 2;
            }
            self.deviation4 += m;
            if self.deviation4 > self.deviation4_max {
                self.deviation4_max = self.deviation4;
                self.rttvar = self.rttvar.max(self.deviation4_max);
            }
            if snd_una > self.round_end {
                if self.deviation4_max < self.rttvar {
                    self.rttvar -= (self.rttvar - self.deviation4_max) >> 2;
                }
                self.round_end = snd_nxt;
                self.deviation4_max = RTO_MIN.0;
            }
        }
        self.srtt8 = self.srtt8.max(1);
        self.rto = Nanos(((self.srtt8 >> 3) + self.rttvar).min(RTO_MAX.0));
    }

    pub fn sample_minimum(&mut self, now: Time, rtt: Nanos) {
        let value = rtt.0.max(1000);
        let new = (now, value);
        let best = &mut self.minimum;
        if !self.seen || value <= best[0].1 || now - best[2].0 > MIN_WINDOW {
            *best = [new; 3];
            self.seen = true;
            return;
        }
        if value <= best[1].1 {
            best[1] = new;
            best[2] = new;
        } else if value <= best[2].1 {
            best[2] = new;
        }
        let age = now - best[0].0;
        if age > MIN_WINDOW {
            *best = [best[1], best[2], new];
            if now - best[0].0 > MIN_WINDOW {
                *best = [best[1], best[2], new];
            }
        } else if best[1].0 == best[0].0 && age.0 > MIN_WINDOW.0 / 4 {
            best[1] = new;
            best[2] = new;
        } else if best[2].0 == best[1].0 && age.0 > MIN_WINDOW.0 / 2 {
            best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_rtt_gives_an_rto_of_rtt_plus_200_ms() {
        let mut rtt = Rtt::default();
        for round in 0..200_u64 {
            rtt.sample(Nanos::from_millis(50), round * 10, round * 10 + 5);
        }
        let over = rtt.rto.0 - Nanos::from_millis(250).0;
        assert!((0..1_000_000).contains(&over), "{:?}", rtt.rto);
    }

    #[test]
    fn the_first_sample_gives_three_times_the_rtt_or_200_ms_above() {
        let mut rtt = Rtt::default();
        rtt.sample(Nanos::from_millis(500), 0, 1);
        assert_eq!(rtt.rto, Nanos::from_millis(1500));
        let mut short = Rtt::default();
        short.sample(Nanos::from_millis(10), 0, 1);
        assert_eq!(short.rto, Nanos::from_millis(210));
    }

    #[test]
    fn the_minimum_is_forgotten_after_its_window() {
        let mut rtt = Rtt::default();
        rtt.sample_minimum(Time(0), Nanos::from_millis(10));
        for second in 1..400 {
            rtt.sample_minimum(
                Time::ZERO + Nanos::from_secs(second),
                Nanos::from_millis(20),
            );
        }
        assert_eq!(rtt.minimum(), Some(Nanos::from_millis(20)));
    }
}
