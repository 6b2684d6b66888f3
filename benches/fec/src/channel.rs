//! What is lost, what of it comes back, and when packets leave in order.

use bentpipe_base::SplitMix64;

/// Gilbert's model: every packet is lost in its bad state, none in its good one. One packet per slot of time.
pub struct Channel {
    random: SplitMix64,
    enter: f64,
    leave: f64,
    bad: bool,
    pub slot: usize,
}

impl Channel {
    /// `burst` is the mean number of losses in a row; at 1 losses are independent.
    pub fn new(loss: f64, burst: f64, seed: u64) -> Self {
        let leave = if burst > 1.0 { 1.0 / burst } else { 1.0 - loss };
        Self {
            random: SplitMix64(seed),
            enter: loss * leave / (1.0 - loss),
            leave,
            bad: false,
            slot: 0,
        }
    }

    /// Sends a packet; whether it is lost.
    pub fn loses(&mut self) -> bool {
        self.slot += 1;
        let draw = f64::from(self.random.draw_below(1 << 30)) / f64::from(1 << 30);
        self.bad = if self.bad {
            draw >= self.leave
        } else {
            draw < self.enter
        };
        self.bad
    }
}

/// When a source packet was sent and when it was known, in slots; `None`: never.
#[derive(Clone, Copy)]
pub struct Packet {
    pub sent: usize,
    pub known: Option<usize>,
    pub lost: bool,
    /// If it is not known then, those behind it do not wait for it any longer.
    pub given_up: usize,
}

#[derive(Default)]
pub struct Outcome {
    pub packets: usize,
    pub lost: usize,
    pub recovered: usize,
    pub encoding_s: f64,
    pub decoding_s: f64,
    delays: Vec<usize>,
}

impl Outcome {
    pub fn new(packets: &[Packet], encoding_s: f64, decoding_s: f64) -> Self {
        let mut delays = Vec::new();
        let mut leaves = 0;
        for packet in packets {
            leaves = leaves.max(packet.known.unwrap_or(packet.given_up));
            if packet.known.is_some() {
                delays.push(leaves - packet.sent);
            }
        }
        delays.sort_unstable();
        let lost = packets.iter().filter(|it| it.lost);
        Self {
            packets: packets.len(),
            lost: lost.clone().count(),
            recovered: lost.filter(|it| it.known.is_some()).count(),
            encoding_s,
            decoding_s,
            delays,
        }
    }

    pub fn mean_delay(&self) -> f64 {
        self.delays.iter().sum::<usize>() as f64 / self.delays.len() as f64
    }

    pub fn delay_quantile(&self, share: f64) -> f64 {
        let at = (share * self.delays.len() as f64) as usize;
        self.delays[at.min(self.delays.len() - 1)] as f64
    }
}

/// Packets that differ from each other.
pub fn packet(number: usize, bytes: usize) -> Vec<u8> {
    let mut random = SplitMix64(number as u64);
    (0..bytes).map(|_| random.draw() as u8).collect()
}
