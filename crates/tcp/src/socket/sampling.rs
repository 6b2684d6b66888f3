//! How a socket fills a row of the `sockets` table.

use super::Socket;
use super::State;
use crate::congestion::{CaState, INFINITE_SSTHRESH};
use crate::counters::Counters;
use crate::sample::SocketSample;
use bentpipe_base::time::{Nanos, Time};

fn state_name(state: State) -> &'static str {
    match state {
        State::SynSent => "SYN-SENT",
        State::SynReceived => "SYN-RECV",
        State::Established => "ESTAB",
        State::FinWait1 => "FIN-WAIT-1",
        State::FinWait2 => "FIN-WAIT-2",
        State::Closing => "CLOSING",
        State::CloseWait => "CLOSE-WAIT",
        State::LastAck => "LAST-ACK",
        State::Closed => "CLOSE",
    }
}

fn ca_name(state: CaState) -> &'static str {
    match state {
        CaState::Open => "open",
        CaState::Disorder => "disorder",
        CaState::Cwr => "cwr",
        CaState::Recovery => "recovery",
        CaState::Loss => "loss",
    }
}

impl Socket {
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How long it has been busy, and of that waiting for the peer's window and for room in the send buffer. Of a
    /// [`sample`](Self::sample), only these change while nothing happens to the socket.
    pub fn waits(&self, now: Time) -> [Nanos; 3] {
        self.chrono.totals(now)
    }

    /// Which of the [`waits`](Self::waits) grow with time while nothing happens to the socket.
    pub fn growing_waits(&self) -> [bool; 3] {
        self.chrono.growing()
    }

    #[inline]
    pub fn sample(&self, now: Time) -> SocketSample {
        let w = &self.window;
        let c = &self.counters;
        let [busy, rwnd_limited, sndbuf_limited] = self.chrono.totals(now);
        let finished = u64::from(self.output.fin_seq.is_some_and(|seq| w.snd_una > seq));
        SocketSample {
            state: state_name(self.state),
            congestion_control: self.control.name(),
            ca_state: ca_name(w.state),
            cwnd_segments: w.cwnd,
            ssthresh_segments: (w.ssthresh < INFINITE_SSTHRESH).then_some(w.ssthresh),
            mss_bytes: w.mss,
            srtt: w.srtt,
            rttvar: Nanos(self.rtt.rttvar >> 2),
            min_rtt: w.min_rtt,
            rto: self.backed_off_rto(),
            backoff: self.timers.backoff,
            unacked_segments: w.packets_out,
            sacked_segments: w.sacked_out,
            lost_segments: w.lost_out,
            retrans_segments: w.retrans_out,
            reordering: w.reordering,
            in_flight_bytes: u64::from(w.in_flight()) * u64::from(w.mss),
            bytes_sent: c.bytes_sent,
            bytes_acked: w.snd_una.saturating_sub(1 + finished),
            bytes_received: self.receiver.bytes_received,
            bytes_retrans: c.bytes_retransmitted,
            segments_out: c.segments_out,
            segments_in: c.segments_in,
            retransmits: c.retransmits,
            delivered: w.delivered,
            delivery_rate_bit_s: self.rate.bytes_per_second(w.mss) * 8,
            pacing_rate_bit_s: w.pacing_rate.map(|rate| rate.saturating_mul(8)),
            app_limited: self.rate.app_limited,
            busy,
            rwnd_limited,
            sndbuf_limited,
            snd_wnd_bytes: self.peer.bytes,
            rcv_wnd_bytes: self.receive_window(),
            rcv_space_bytes: self.buffer.space,
            rcv_ssthresh_bytes: self.buffer.ssthresh,
            rcv_ooopack: self.receiver.out_of_order_segments,
            notsent_bytes: self.unsent(),
            sndbuf_bytes: self.send.sndbuf,
            rcvbuf_bytes: self.buffer.rcvbuf,
            wmem_queued_bytes: self.queued_memory(),
            rmem_alloc_bytes: self.receiver.unread_memory + self.receiver.out_of_order_memory,
            drops: self.receiver.dropped,
            total_rto: c.timeouts,
            rcv_rtt: Nanos(self.buffer.rtt()),
        }
    }
}
