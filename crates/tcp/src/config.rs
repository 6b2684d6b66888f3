//! What a host's TCP is set to: the sysctls and socket options in plain numbers, the kernel's tick, and what a payload costs
//! in socket-buffer memory.

use crate::congestion::{Choice, JIFFY};
use bentpipe_base::time::Nanos;
use serde::Serialize;

/// The settings of an endpoint. Defaults are Linux 6.18's.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent switches of a TCP"
)]
pub struct Config {
    pub congestion_control: Choice,
    pub sack: bool,
    pub dsack: bool,
    pub window_scaling: bool,
    pub timestamps: bool,
    pub ecn: bool,
    /// min, default, max in bytes.
    pub tcp_rmem: [u64; 3],
    pub tcp_wmem: [u64; 3],
    /// `SO_RCVBUF` / `SO_SNDBUF` as the kernel holds them (twice what was asked); autotuning is then off.
    pub rcvbuf: Option<u64>,
    pub sndbuf: Option<u64>,
    pub initcwnd: u32,
    /// Initial receive window in segments.
    pub initrwnd: Option<u32>,
    /// What the receiver allows from the handshake on, in bytes, as a QUIC receiver's `initial_max_data`. Linux has no such setting:
    /// its window begins at 64 kB and grows by two segments for each that arrives.
    pub open_receive_window: Option<u64>,
    /// `SO_MAX_PACING_RATE` as a rate of payload: what leaves is spaced at this rate at most, and at Linux's pacing rate below it. The
    /// option makes TCP pace by itself, without `fq` and whatever the congestion control (`sk_setsockopt`, `SK_PACING_NEEDED`).
    pub max_pacing_rate_bit_s: Option<u64>,
    pub slow_start_after_idle: bool,
    /// 4 or 6.
    pub ip: u8,
    pub nagle: bool,
    /// The receiving application reads at this rate; at once if `None`.
    pub read_rate_bit_s: Option<u64>,
    /// Median time from waking a process, or from a packet's arrival, to the host's looking at it: interrupt, its moderation by the
    /// device, scheduling. 0: at once.
    pub wakeup_ns: Nanos,
    /// The kernel's tick (1/HZ), by which it rounds up timeouts and delayed ACKs. 0: they are exact.
    pub tick_ns: Nanos,
    pub memory: Memory,
}

bentpipe_reading::read_struct!(Config default {
    congestion_control,
    sack,
    dsack,
    window_scaling,
    timestamps,
    ecn,
    tcp_rmem,
    tcp_wmem,
    rcvbuf,
    sndbuf,
    initcwnd,
    initrwnd,
    open_receive_window,
    max_pacing_rate_bit_s,
    slow_start_after_idle,
    ip,
    nagle,
    read_rate_bit_s,
    wakeup_ns,
    tick_ns,
    memory,
});

/// What a payload costs in buffer memory. Measured on kernel 6.18: 832 bytes per sent buffer; 2304 bytes for a
/// received packet of 1500, whence a window of 0.625 of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Memory {
    pub sent_overhead: u32,
    /// Room for headers that a sent buffer is sized with (`MAX_TCP_HEADER`): 192 in a kernel without wireless and
    /// tunnels, as measured (a fresh socket's sndbuf is then 46080); 320 in most distributions' (87040).
    pub sent_header: u32,
    /// Received packets are held in buffers of a power of two plus this.
    pub received_overhead: u32,
    /// Largest burst, in payload bytes.
    pub gso_bytes: u32,
}

bentpipe_reading::read_struct!(Memory default {
    sent_overhead,
    sent_header,
    received_overhead,
    gso_bytes,
});

impl Default for Memory {
    fn default() -> Self {
        Self {
            sent_overhead: 832,
            sent_header: 192,
            received_overhead: 256,
            gso_bytes: 65_536,
        }
    }
}

impl Memory {
    /// Memory charged for one received packet of this length (kmalloc's power of two, with 320 bytes of
    /// shared info and the headroom inside, and the buffer's own head).
    pub fn received(&self, wire_bytes: u32) -> u32 {
        let data = wire_bytes + 64 + 320;
        if data <= 8192 {
            data.next_power_of_two().max(512) + self.received_overhead
        } else {
            // Super-packets lie in page fragments: whole pages beyond a linear head.
            1024 + self.received_overhead + wire_bytes.div_ceil(4096) * 4096
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            congestion_control: "cubic".into(),
            sack: true,
            dsack: true,
            window_scaling: true,
            timestamps: true,
            ecn: false,
            tcp_rmem: [4096, 131_072, 33_554_432],
            tcp_wmem: [4096, 16_384, 4_194_304],
            rcvbuf: None,
            sndbuf: None,
            initcwnd: 10,
            initrwnd: None,
            open_receive_window: None,
            max_pacing_rate_bit_s: None,
            slow_start_after_idle: true,
            ip: 4,
            nagle: true,
            read_rate_bit_s: None,
            // Servers' network cards hold interrupts back for some tens of microseconds, and a thread of an idle
            // machine takes as long to be woken: 36 us here (docs/accuracy.md).
            wakeup_ns: Nanos::from_micros(20),
            tick_ns: JIFFY,
            memory: Memory::default(),
        }
    }
}

impl Config {
    /// Bytes of the IP header.
    pub fn ip_header(&self) -> u32 {
        if self.ip == 6 { 40 } else { 20 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_packet_gives_a_window_of_five_eighths_of_the_buffer() {
        let truesize = Memory::default().received(1500);
        assert_eq!(truesize, 2304);
        assert_eq!(1448 * 256 / truesize, 160);
    }
}
