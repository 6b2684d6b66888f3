//! Congestion control behind one trait, with the hook points that Linux gives (`struct tcp_congestion_ops`,
//! `include/net/tcp.h`). Each algorithm is one file beside this one, with a function `make`, and one line in `controls!` below.
//!
//! An algorithm reads a [`View`] of the connection and sets a [`Window`]; all else is out of its reach. Counts are
//! segments, as in Linux; sequence numbers are offsets in the stream (64 bits, the SYN is 0); times are
//! integer nanoseconds; rates are bytes per second.

use bentpipe_base::SplitMix64;
use bentpipe_base::time::{Nanos, Time};

mod careful_resume;
mod delivery_rate;
mod hystart;
mod hystart_plus;
mod registry;
mod search;
mod startup;
pub mod testing;
mod windowed_max;

/// Names the files and makes the table of what is in them.
macro_rules! controls {
    ($($file:ident = $name:literal),* $(,)?) => {
        $(
            #[allow(clippy::unnecessary_wraps, reason = "`make` may fail where parameters may be wrong")]
            mod $file;
        )*
        const CONTROLS: &[(&str, Constructor)] = &[$(($name, $file::make)),*];
    };
}

// The congestion controls that come with this crate: the file, and the name by which a lab asks for it. One line each.
controls! {
    bbr = "bbr",
    bbr3 = "bbr3",
    cubic = "cubic",
    fixed_rate = "fixed-rate",
    hybla = "hybla",
    reno = "reno",
    slow_start = "slow-start",
}

pub use registry::{Choice, Constructor, ControlError, Made, Parameters, Registry, Value};

/// The kernel's tick, by which some algorithms count time: HZ = 250, as Debian builds it.
pub const JIFFY: Nanos = Nanos::from_millis(4);

/// No slow-start threshold yet (Linux's `TCP_INFINITE_SSTHRESH`).
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// The sender's state as Linux names it (`enum tcp_ca_state`). The order matters: `Recovery` and `Loss` are
/// above the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaState {
    #[default]
    Open,
    Disorder,
    Cwr,
    Recovery,
    Loss,
}

/// Things that happen to the window outside an acknowledgement (`enum tcp_ca_event`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CwndEvent {
    /// First transmission when nothing was in flight; `Window::last_sent` is still the transmission before.
    TxStart,
    /// The window restarts after idle (RFC 2861).
    CwndRestart,
    /// A window reduction is complete.
    CompleteCwr,
    /// A retransmission timeout has just reduced ssthresh.
    Loss,
    /// A tail-loss probe has repaired a loss (RFC 8985, section 7.4.2).
    TlpRecovered,
}

/// What one acknowledgement delivered (`struct rate_sample`, `net/ipv4/tcp_rate.c`).
#[derive(Clone, Copy, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "Linux's fields, each read on its own"
)]
pub struct AckSample {
    /// `Window::delivered_at` when the newest delivered segment was sent; `Time::ZERO` with
    /// `prior_delivered == 0` where there is none.
    pub prior_delivered_at: Time,
    /// `Window::delivered` when that segment was sent.
    pub prior_delivered: u64,
    pub prior_delivered_ce: u64,
    /// Segments delivered over `interval`; negative if there is no valid sample.
    pub delivered: i64,
    pub delivered_ce: i64,
    /// The longer of the send and the acknowledgement interval; negative if there is no valid sample.
    pub interval: Nanos,
    pub send_interval: Nanos,
    pub ack_interval: Nanos,
    /// RTT of the last (s)acked segment never retransmitted; `None` where this ACK gives none.
    pub rtt: Option<Nanos>,
    /// Segments newly marked lost at this ACK.
    pub losses: u32,
    /// Segments newly (s)acked at this ACK.
    pub acked_sacked: u32,
    /// In flight before this ACK.
    pub prior_in_flight: u32,
    /// In flight when the newest delivered segment was sent, it included (`tx_in_flight` of BBR v3).
    pub sent_in_flight: u32,
    /// `Window::lost` when that segment was sent.
    pub prior_lost: u64,
    /// Whether the sample was taken while the application, not the network, limited the sender.
    pub is_app_limited: bool,
    /// Whether the newest delivered segment had been retransmitted.
    pub is_retrans: bool,
    /// The ACK may have been delayed by the receiver: it covers one segment that was shorter than full, it alone was delivered
    /// since that was sent, and the ACK reports neither loss nor congestion (`FLAG_ACK_MAYBE_DELAYED`).
    pub is_ack_delayed: bool,
    /// This ACK carried an ECN echo.
    pub is_ece: bool,
    /// Highest sequence cumulatively acknowledged, as `Window::snd_una` was before this ACK.
    pub prior_snd_una: u64,
    /// End of the last segment delivered.
    pub last_end_seq: u64,
}

/// A segment that has just been marked lost, as it was when sent (for algorithms that react per loss: BBR v3).
#[derive(Clone, Copy, Debug)]
pub struct LostSegment {
    pub sent_in_flight: u32,
    pub prior_lost: u64,
    pub prior_delivered: u64,
    pub app_limited: bool,
}

/// What a congestion control may read of its connection and not write (fields of `struct tcp_sock`).
#[derive(Clone, Debug)]
pub struct View {
    /// cwnd before the present reduction (`prior_cwnd`).
    pub prior_cwnd: u32,
    /// Initial window.
    pub initial_cwnd: u32,
    /// Payload bytes of a full segment (`mss_cache`).
    pub mss: u32,
    pub packets_out: u32,
    pub sacked_out: u32,
    pub lost_out: u32,
    pub retrans_out: u32,
    /// Degree of reordering seen, in segments.
    pub reordering: u32,
    /// Segments ever delivered, and with a CE mark.
    pub delivered: u64,
    pub delivered_ce: u64,
    /// When `delivered` last changed.
    pub delivered_at: Time,
    /// Segments ever marked lost.
    pub lost: u64,
    pub snd_una: u64,
    pub snd_nxt: u64,
    /// `high_seq`: `snd_nxt` at the start of the present recovery.
    pub high_seq: u64,
    /// Whether cwnd bound the sender in the last window, and the most segments out in it.
    pub cwnd_limited: bool,
    pub max_packets_out: u32,
    /// Smoothed RTT; zero before the first sample.
    pub srtt: Nanos,
    /// Windowed minimum RTT; `None` before the first sample.
    pub min_rtt: Option<Nanos>,
    pub state: CaState,
    /// Last data transmission (`lsndtime`).
    pub last_sent: Time,
    /// Bytes per second that the application bounds pacing to (`sk_max_pacing_rate`).
    pub max_pacing_rate: u64,
    /// Earliest departure of the next burst when paced (`tcp_wstamp_ns`).
    pub next_departure: Time,
    /// The event's time (`tcp_mstamp`).
    pub now: Time,
}

impl View {
    pub fn in_flight(&self) -> u32 {
        (self.packets_out + self.retrans_out).saturating_sub(self.sacked_out + self.lost_out)
    }
}

/// What a congestion control decides, beside its [`View`] of the connection, whose fields it reads as the window's own.
///
/// ```compile_fail,E0594
/// fn rewrites_the_past(window: &mut bentpipe_tcp::congestion::Window) {
///     window.snd_una = 0;
/// }
/// ```
/// ```
/// fn decides(window: &mut bentpipe_tcp::congestion::Window) {
///     window.cwnd = (window.snd_nxt - window.snd_una) as u32 / window.mss;
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Window {
    /// Congestion window, at least 1.
    pub cwnd: u32,
    /// Acknowledged segments counted towards the next increase.
    pub cwnd_count: u32,
    pub ssthresh: u32,
    pub cwnd_clamp: u32,
    /// `None`: no rate known yet. It sizes bursts always, and spaces them where the algorithm asks for pacing.
    pub pacing_rate: Option<u64>,
    /// Above 0 while the application limits the sender: `delivered + in flight` when it ran dry, so the bubble
    /// has left the pipe once `delivered` is above it. An algorithm sets it where it keeps the sender short itself.
    pub app_limited: u64,
    /// State of the window's own random numbers; use [`Window::draw`].
    random: SplitMix64,
    /// Written by the socket alone.
    pub(crate) view: View,
}

impl std::ops::Deref for Window {
    type Target = View;

    fn deref(&self) -> &View {
        &self.view
    }
}

impl Window {
    /// A connection that has not begun, with the seed of its random numbers.
    pub(crate) fn new(initial_cwnd: u32, random: u64) -> Self {
        Self {
            cwnd: initial_cwnd,
            cwnd_count: 0,
            ssthresh: INFINITE_SSTHRESH,
            cwnd_clamp: u32::MAX >> 1,
            pacing_rate: None,
            app_limited: u64::MAX >> 1,
            random: SplitMix64(random),
            view: View {
                prior_cwnd: 0,
                initial_cwnd,
                mss: 536,
                packets_out: 0,
                sacked_out: 0,
                lost_out: 0,
                retrans_out: 0,
                reordering: 3,
                delivered: 0,
                delivered_ce: 0,
                delivered_at: Time::ZERO,
                lost: 0,
                snd_una: 0,
                snd_nxt: 0,
                high_seq: 0,
                cwnd_limited: false,
                max_packets_out: 0,
                srtt: Nanos::ZERO,
                min_rtt: None,
                state: CaState::Open,
                last_sent: Time(i64::MIN >> 2),
                max_pacing_rate: u64::MAX,
                next_departure: Time(i64::MIN >> 2),
                now: Time::ZERO,
            },
        }
    }

    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    pub fn in_initial_slow_start(&self) -> bool {
        self.ssthresh >= INFINITE_SSTHRESH
    }

    /// Whether growth is justified: cwnd was the limit, or slow start has not yet doubled what was in use.
    pub fn is_cwnd_limited(&self) -> bool {
        self.cwnd_limited || (self.in_slow_start() && self.cwnd < 2 * self.max_packets_out)
    }

    /// Linux's default pacing in percent of a window per RTT: 200 in slow start, 120 later.
    pub fn pacing_percent(&self) -> u32 {
        if self.cwnd < self.ssthresh / 2 {
            200
        } else {
            120
        }
    }

    /// Sets the pacing rate to this percentage of a window per RTT.
    pub(crate) fn pace(&mut self, percent: u32) {
        let segments = self.cwnd.max(self.packets_out);
        let bytes = u128::from(self.mss) * u128::from(segments) * u128::from(percent);
        if self.srtt.0 > 0 {
            let rate = bytes * 10_000_000 / self.srtt.0 as u128;
            self.set_pacing_rate(rate.min(u128::from(u64::MAX)) as u64);
        }
    }

    /// `SO_MAX_PACING_RATE`, set before the connection begins (`sk_setsockopt`): it is the pacing rate until there is another.
    pub(crate) fn bound_pacing(&mut self, most: u64) {
        self.view.max_pacing_rate = most;
        self.pacing_rate = Some(most);
    }

    /// Sets the pacing rate in bytes per second, or the application's bound if that is lower.
    pub fn set_pacing_rate(&mut self, rate: u64) {
        self.pacing_rate = Some(rate.min(self.max_pacing_rate));
    }

    /// Slow start by `acked` segments; returns what is left over once ssthresh is reached.
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let cwnd = (self.cwnd.saturating_add(acked)).min(self.ssthresh);
        let left = acked - (cwnd - self.cwnd);
        self.cwnd = cwnd.min(self.cwnd_clamp);
        left
    }

    /// Additive increase: one segment per `per` acknowledged ones (`tcp_cong_avoid_ai`).
    pub fn additive_increase(&mut self, per: u32, acked: u32) {
        let per = per.max(1);
        if self.cwnd_count >= per {
            self.cwnd_count = 0;
            self.cwnd += 1;
        }
        self.cwnd_count += acked;
        if self.cwnd_count >= per {
            let steps = self.cwnd_count / per;
            self.cwnd_count -= steps * per;
            self.cwnd += steps;
        }
        self.cwnd = self.cwnd.min(self.cwnd_clamp);
    }

    /// Uniform over `0..below`, from the connection's own stream of random numbers.
    pub fn draw(&mut self, below: u32) -> u32 {
        self.random.draw_below(below)
    }
}

/// Its name only: the module for a browser then has no words for states that nobody prints there.
impl core::fmt::Debug for dyn CongestionControl {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

/// A congestion control. Every hook gets the [`Window`] with `now` set.
pub trait CongestionControl: Send {
    fn name(&self) -> &'static str;

    /// The connection is established; cwnd, mss and (if the handshake gave one) srtt are set.
    fn init(&mut self, window: &mut Window) {
        let _ = window;
    }

    /// The new slow-start threshold on a loss event or ECN echo, in segments.
    fn ssthresh(&mut self, window: &mut Window) -> u32;

    /// `acked` segments were delivered outside any reduction: grow `cwnd`.
    fn cong_avoid(&mut self, window: &mut Window, acked: u32);

    /// The whole decision at once, in place of PRR, [`cong_avoid`](Self::cong_avoid) and the default pacing rate.
    /// Called at each ACK if [`controls_all`](Self::controls_all); after loss marking, before transmission.
    fn cong_control(&mut self, window: &mut Window, sample: &AckSample) {
        let _ = (window, sample);
    }

    /// Whether [`cong_control`](Self::cong_control) replaces the default.
    fn controls_all(&self) -> bool {
        false
    }

    /// At each ACK that (s)acks data, before loss marking: `acked` segments, RTT if valid.
    fn packets_acked(&mut self, window: &mut Window, acked: u32, rtt: Option<Nanos>) {
        let _ = (window, acked, rtt);
    }

    /// A segment was marked lost.
    fn segment_lost(&mut self, window: &mut Window, segment: &LostSegment) {
        let _ = (window, segment);
    }

    /// cwnd to go back to when a reduction proves spurious.
    fn undo_cwnd(&mut self, window: &mut Window) -> u32 {
        window.cwnd.max(window.prior_cwnd)
    }

    /// The state is about to change; `window.state` is still the old one.
    fn set_state(&mut self, window: &mut Window, new: CaState) {
        let _ = (window, new);
    }

    fn cwnd_event(&mut self, window: &mut Window, event: CwndEvent) {
        let _ = (window, event);
    }

    /// Multiple of cwnd that the send buffer should hold.
    fn send_buffer_factor(&self) -> u32 {
        2
    }

    /// Smallest burst in segments.
    fn min_tso_segments(&self, window: &Window) -> u32 {
        let _ = window;
        2
    }

    /// The default pacing rate in percent of a window per RTT; not asked where [`controls_all`](Self::controls_all).
    fn pacing_percent(&self, window: &Window) -> u32 {
        window.pacing_percent()
    }

    /// Whether bursts are spaced at `Window::pacing_rate`; asked at each burst.
    fn paces(&self) -> bool {
        false
    }
}
