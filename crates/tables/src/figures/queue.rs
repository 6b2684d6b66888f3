//! How the queue of a pipe behaved over a run, in a few figures (docs/queue-behaviour.md).
//!
//! All are from time 0 to the run's end, and of one pipe. Instants are the ends of the table's bins: evenly spaced, so the
//! share of instants is the share of time.
//!
//! 1. At the limit: a full packet more would not have fitted. Needs a limit in bytes or BDP.
//! 2. Empty: nothing waited, while some flow had data to send: from its connection to its last byte. The link may be
//!    sending its last packet at such an instant, so what is lost by it is said apart, by the bytes that left.
//! 3. Delay: of the packets that left, by the means of their bins; a quantile is over packets.
//! 4. Oscillation: the autocorrelation r of the bins' mean occupancy. Its period is the lag of the highest local maximum
//!    of r behind r's first zero and up to a quarter of the run; its strength is r there. White noise of n bins has a
//!    highest r of about sqrt(2 ln(lags) / n): below that there is no oscillation.
//! 5. Loss episode: drops of the queue (tail and AQM) with less than one base RTT between bins that have any. A flow is
//!    hit by the episode after whose beginning its sender is first seen to retransmit, within two RTTs and a sample of its
//!    end. A flow that lives between two samples counts by its row in `flows`.

use super::autocorrelation::sums_of_products;
use super::pipe::Bins;
use super::statistics::{median, sum};
use bentpipe_base::sorting::sort_by;
use serde::Serialize;

const MOST_LAG_SHARE: f64 = 0.25;
const USUAL_BIN_S: f64 = 0.1;

/// `None` where the run cannot tell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueBehaviour {
    pub at_limit_share: Option<f64>,
    /// Of the time in which some flow had data to send.
    pub empty_share: Option<f64>,
    /// Of what the rate would have carried in that time.
    pub lost_capacity_share: Option<f64>,
    pub delay_s_mean: Option<f64>,
    pub delay_s_p95: Option<f64>,
    pub oscillation_period_s: Option<f64>,
    pub oscillation_strength: Option<f64>,
    pub loss_episodes: usize,
    /// By an episode; `None` without one.
    pub flows_hit_mean: Option<f64>,
    pub flows_hit_max: Option<u64>,
}

/// What the lab asked of the pipe.
#[derive(Clone, Copy, Debug)]
pub struct QueueQuestion {
    pub rtt_s: f64,
    /// `None`: the pipe has none, or none in bytes.
    pub limit_bytes: Option<f64>,
    /// `None`: the pipe has none, or one that changes.
    pub rate_bit_s: Option<f64>,
    pub mtu_bytes: f64,
}

bentpipe_reading::read_struct!(QueueQuestion {
    rtt_s,
    limit_bytes,
    rate_bit_s,
    mtu_bytes
});

/// Which senders of the pipe's direction were seen to retransmit, and when.
#[derive(Clone, Debug, Default)]
pub struct Retransmitting {
    /// Instant of the sample, and what tells the flow from others.
    pub seen: Vec<(f64, u64)>,
    /// Between two samples; zero if there are none.
    pub sample_s: f64,
}

impl Retransmitting {
    pub fn new(seen: impl Iterator<Item = (f64, u64)>, samples_s: &[f64]) -> Self {
        let gaps: Vec<f64> = samples_s.windows(2).map(|two| two[1] - two[0]).collect();
        Self {
            seen: seen.collect(),
            sample_s: median(&gaps).unwrap_or(0.0),
        }
    }
}

/// `under_way` is from when to when each flow in the pipe's direction had data to send.
pub fn queue_behaviour(
    bins: &Bins,
    mut under_way: Vec<(f64, f64)>,
    retransmitting: &Retransmitting,
    end_s: f64,
    asked: &QueueQuestion,
) -> QueueBehaviour {
    let first = bins.start_s.partition_point(|&it| it < 0.0);
    let gaps: Vec<f64> = bins.start_s[first..]
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .collect();
    let bin_s = median(&gaps).unwrap_or(USUAL_BIN_S);
    let past = bins.start_s.partition_point(|&it| it < end_s - bin_s / 2.0);
    let within = first..past.max(first);
    let starts_s = &bins.start_s[within.clone()];
    let waiting = &bins.queue_bytes_end[within.clone()];
    let busy = busy(&mut under_way, starts_s, bin_s);
    let of_busy = |values: &[u64]| -> Vec<u64> {
        let busy = values.iter().zip(&busy).filter(|(_, busy)| **busy);
        busy.map(|(&value, _)| value).collect()
    };
    let (delay_s_mean, delay_s_p95) = delays(
        &bins.queue_delay_s_mean[within.clone()],
        &bins.throughput_packets[within.clone()],
    );
    let (oscillation_period_s, oscillation_strength) =
        oscillation(&bins.queue_bytes_mean[within.clone()], bin_s).unzip();
    let hit = flows_hit(
        &bins.dropped_packets[within.clone()],
        starts_s,
        bin_s,
        asked.rtt_s,
        retransmitting,
    );
    QueueBehaviour {
        at_limit_share: asked
            .limit_bytes
            .and_then(|limit| share(waiting, |&it| it as f64 > limit - asked.mtu_bytes)),
        empty_share: share(&of_busy(waiting), |&it| it == 0),
        lost_capacity_share: asked.rate_bit_s.and_then(|rate_bit_s| {
            let carried = of_busy(&bins.throughput_bytes[within]);
            let could_bit = rate_bit_s * bin_s * carried.len() as f64;
            let lost = || 1.0 - carried.iter().sum::<u64>() as f64 * 8.0 / could_bit;
            (!carried.is_empty()).then(|| lost().max(0.0))
        }),
        delay_s_mean,
        delay_s_p95,
        oscillation_period_s,
        oscillation_strength,
        loss_episodes: hit.len(),
        flows_hit_mean: (!hit.is_empty())
            .then(|| hit.iter().sum::<u64>() as f64 / hit.len() as f64),
        flows_hit_max: hit.iter().max().copied(),
    }
}

fn share<T>(values: &[T], is: impl Fn(&T) -> bool) -> Option<f64> {
    let found = values.iter().filter(|value| is(value)).count();
    (!values.is_empty()).then(|| found as f64 / values.len() as f64)
}

/// Of each bin, whether some flow had data to send through the whole of it.
fn busy(under_way: &mut [(f64, f64)], starts_s: &[f64], bin_s: f64) -> Vec<bool> {
    sort_by(under_way, |a, b| a.0.total_cmp(&b.0).is_lt());
    let mut begun = under_way.iter().peekable();
    // The latest end of all flows begun by then: what ends later is under way.
    let mut latest_s = f64::NEG_INFINITY;
    let is_busy = |&start_s: &f64| {
        while let Some(flow) = begun.next_if(|flow| flow.0 <= start_s) {
            latest_s = latest_s.max(flow.1);
        }
        latest_s >= start_s + bin_s
    };
    starts_s.iter().map(is_busy).collect()
}

/// Mean and 95th percentile over the packets that left the queue.
fn delays(delays_s: &[Option<f64>], packets: &[u64]) -> (Option<f64>, Option<f64>) {
    let known = delays_s.iter().zip(packets);
    let mut left: Vec<(f64, u64)> = known.filter_map(|(at, &it)| Some(((*at)?, it))).collect();
    sort_by(&mut left, |a, b| a.0.total_cmp(&b.0).is_lt());
    let all: u64 = left.iter().map(|(_, packets)| packets).sum();
    if all == 0 {
        return (None, None);
    }
    let weighed: Vec<f64> = left.iter().map(|&(s, it)| s * it as f64).collect();
    let mut below = 0;
    let p95 = left.iter().find(|(_, packets)| {
        below += packets;
        below as f64 >= 0.95 * all as f64
    });
    (Some(sum(&weighed) / all as f64), p95.map(|&(s, _)| s))
}

/// Period in seconds and strength (0 to 1); `None` where none stands out.
fn oscillation(occupancy_bytes: &[f64], bin_s: f64) -> Option<(f64, f64)> {
    let count = occupancy_bytes.len();
    let most_lag = (count as f64 * MOST_LAG_SHARE) as usize;
    if most_lag < 3 {
        return None;
    }
    let mean = sum(occupancy_bytes) / count as f64;
    let centred: Vec<f64> = occupancy_bytes.iter().map(|it| it - mean).collect();
    let squares: Vec<f64> = centred.iter().map(|it| it * it).collect();
    let variance = sum(&squares);
    if variance == 0.0 {
        return None;
    }
    let r: Vec<f64> = sums_of_products(&centred, most_lag + 2)
        .into_iter()
        .map(|sum| sum / variance)
        .collect();
    let first_zero = r.iter().position(|&it| it <= 0.0)?;
    let mut best: Option<(usize, f64)> = None;
    for lag in first_zero.max(1)..=most_lag {
        let is_peak = r[lag] > r[lag - 1] && r[lag] >= r[lag + 1];
        if is_peak && best.is_none_or(|(_, highest)| r[lag] > highest) {
            best = Some((lag, r[lag]));
        }
    }
    let (lag, strength) = best?;
    let by_chance = (2.0 * libm::log(most_lag as f64) / count as f64).sqrt();
    (strength > by_chance).then_some((lag as f64 * bin_s, strength))
}

/// Of each loss episode, how many flows it hit.
fn flows_hit(
    dropped: &[u64],
    starts_s: &[f64],
    bin_s: f64,
    rtt_s: f64,
    retransmitting: &Retransmitting,
) -> Vec<u64> {
    // First and last bin of each.
    let mut episodes: Vec<(f64, f64)> = Vec::new();
    for (&start_s, _) in starts_s.iter().zip(dropped).filter(|(_, it)| **it > 0) {
        match episodes.last_mut() {
            Some((_, last_s)) if start_s - *last_s <= rtt_s + bin_s / 2.0 => *last_s = start_s,
            _ => episodes.push((start_s, start_s)),
        }
    }
    let mut hits: Vec<(usize, u64)> = Vec::new();
    for &(seen_s, flow) in &retransmitting.seen {
        let begun = episodes.partition_point(|&(first_s, _)| first_s <= seen_s);
        let Some(number) = begun.checked_sub(1) else {
            continue;
        };
        let last_s = episodes[number].1;
        if seen_s <= last_s + bin_s + 2.0 * rtt_s + retransmitting.sample_s {
            hits.push((number, flow));
        }
    }
    sort_by(&mut hits, |a, b| a < b);
    hits.dedup();
    let mut counted = vec![0; episodes.len()];
    for (number, _) in hits {
        counted[number] += 1;
    }
    counted
}
