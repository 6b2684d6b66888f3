//! The kernel's struct `tcp_info` (`include/uapi/linux/tcp.h`) and `SKMEMINFO` (`include/uapi/linux/sock_diag.h`), read
//! where they lie.
//!
//! The structure has grown with the kernel and each kernel returns its own length, so a field is there if it lies
//! wholly within what was returned. Every function takes any bytes whatever.

/// A view of a returned `tcp_info`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo<'a>(pub &'a [u8]);

/// The state that the kernel's loss recovery is in.
const CA_STATES: [&str; 5] = ["open", "disorder", "cwr", "recovery", "loss"];
/// `TCP_INFINITE_SSTHRESH`: no loss has set it yet.
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// A 32-bit field at an offset, with its doc comment.
macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident: $width:ident = $at:literal;)*) => {
        $($(#[$doc])* pub fn $name(self) -> Option<$width> {
            let bytes = self.0.get($at..$at + size_of::<$width>())?;
            bytes.try_into().ok().map($width::from_ne_bytes)
        })*
    };
}

impl TcpInfo<'_> {
    fields! {
        ca_state_number: u8 = 1;
        backoff: u8 = 4;
        /// What both ends offered: bit 0 time stamps, 1 SACK, 2 window scaling, 3 ECN.
        options: u8 = 5;
        /// Shifts of the windows: of what is received from the peer, and of what is told to it, four bits each in the
        /// machine's order of bit fields.
        scales: u8 = 6;
        /// Bit 0: the delivery rate was limited by the application; bits 1 and 2: Fast Open.
        flags: u8 = 7;
        rto_us: u32 = 8;
        snd_mss: u32 = 16;
        unacked: u32 = 24;
        sacked: u32 = 28;
        lost: u32 = 32;
        retrans: u32 = 36;
        rcv_ssthresh: u32 = 64;
        rtt_us: u32 = 68;
        rttvar_us: u32 = 72;
        snd_ssthresh: u32 = 76;
        snd_cwnd: u32 = 80;
        reordering: u32 = 88;
        rcv_rtt_us: u32 = 92;
        rcv_space: u32 = 96;
        total_retrans: u32 = 100;
        /// Bytes per second (3.15).
        pacing_rate: u64 = 104;
        /// 4.1.
        bytes_acked: u64 = 120;
        bytes_received: u64 = 128;
        /// 4.2.
        segs_out: u32 = 136;
        segs_in: u32 = 140;
        /// 4.6.
        notsent_bytes: u32 = 144;
        min_rtt_us: u32 = 148;
        /// Bytes per second (4.9).
        delivery_rate: u64 = 160;
        /// 4.10.
        busy_time_us: u64 = 168;
        rwnd_limited_us: u64 = 176;
        sndbuf_limited_us: u64 = 184;
        /// 4.18.
        delivered: u32 = 192;
        /// 4.19.
        bytes_sent: u64 = 200;
        bytes_retrans: u64 = 208;
        /// 5.4.
        rcv_ooopack: u32 = 224;
        snd_wnd: u32 = 228;
        /// 6.2.
        rcv_wnd: u32 = 232;
        /// 6.7.
        total_rto: u16 = 240;
    }

    pub fn ca_state(self) -> Option<&'static str> {
        CA_STATES.get(usize::from(self.ca_state_number()?)).copied()
    }

    /// Segments; `None` while infinite.
    pub fn ssthresh(self) -> Option<u32> {
        self.snd_ssthresh()
            .filter(|&threshold| threshold < INFINITE_SSTHRESH)
    }

    /// Whether the latest delivery rate was limited by the application. The bit came with the rate: before, it is
    /// padding.
    pub fn app_limited(self) -> Option<bool> {
        self.delivery_rate()?;
        self.flags().map(|flags| flags & 1 == 1)
    }

    /// (unacked - sacked - lost + retrans) x mss.
    pub fn in_flight_bytes(self) -> Option<i64> {
        let [unacked, sacked, lost, retrans, mss] = [
            self.unacked()?,
            self.sacked()?,
            self.lost()?,
            self.retrans()?,
            self.snd_mss()?,
        ]
        .map(i64::from);
        Some((unacked - sacked - lost + retrans).saturating_mul(mss))
    }

    /// `None` before the first sample.
    pub fn srtt_s(self) -> Option<f64> {
        self.rtt_us().filter(|&micros| micros > 0).map(seconds)
    }

    pub fn rttvar_s(self) -> Option<f64> {
        self.srtt_s()?;
        self.rttvar_us().map(seconds)
    }

    /// `None` before the first sample.
    pub fn min_rtt_s(self) -> Option<f64> {
        self.min_rtt_us()
            .filter(|&micros| micros != u32::MAX)
            .map(seconds)
    }

    /// `None` where the receiver has no estimate.
    pub fn rcv_rtt_s(self) -> Option<f64> {
        self.rcv_rtt_us().filter(|&micros| micros > 0).map(seconds)
    }

    pub fn rto_s(self) -> Option<f64> {
        self.rto_us().map(seconds)
    }

    /// `None` while not limited.
    pub fn pacing_rate_bit_s(self) -> Option<f64> {
        self.pacing_rate()
            .filter(|&rate| rate != u64::MAX)
            .map(|rate| rate as f64 * 8.0)
    }

    pub fn delivery_rate_bit_s(self) -> Option<f64> {
        self.delivery_rate().map(|rate| rate as f64 * 8.0)
    }
}

fn seconds(micros: u32) -> f64 {
    f64::from(micros) / 1e6
}

/// A view of the socket's memory counters, 32 bits each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SkMemInfo<'a>(pub &'a [u8]);

impl SkMemInfo<'_> {
    fields! {
        rmem_alloc: u32 = 0;
        rcvbuf: u32 = 4;
        sndbuf: u32 = 12;
        wmem_queued: u32 = 20;
        backlog: u32 = 28;
        drops: u32 = 32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A `tcp_info` as long as it was in kernel 2.6, 4.1, 4.10, 4.19, 5.4, 6.2, 6.7 and 6.18.
    const LENGTHS: [usize; 8] = [104, 136, 192, 224, 232, 240, 248, 280];

    /// What kernel 6.18 returned to a sender (x86-64) that had sent 2 MB over 10 Mbit/s and 20 ms.
    const CAPTURED: &str = "\
        010000000007aa0080a90300409c0000a8050000180200000000000000000000000000000000000000000000240000000000\
        00000000000000000000dc05000058fa000069910000910400001a00000020000000a8050000030000000000000090380000\
        03000000abca160000000000ffffffffffffffff81841e000000000001000000000000006c05000065030000000000003053\
        00000100000069050000dfe7120000000000c0c1190000000000000000000000000000000000000000006705000000000000\
        78951e0000000000f81000000000000000000000000000000000000000cc070000fc00000000000000000000000000000000\
        000000000000000000000000000000000000000000000000000000000000";

    fn captured() -> Vec<u8> {
        let digits = CAPTURED.as_bytes().chunks(2);
        digits
            .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    }

    /// Byte i is i, so that a field says where it was read.
    fn counted(length: usize) -> Vec<u8> {
        (0..=u8::MAX).cycle().take(length).collect()
    }

    #[test]
    fn a_field_is_there_from_the_kernel_on_that_brought_it() {
        type Present = fn(TcpInfo<'_>) -> bool;
        let since: [(usize, Present); 11] = [
            (104, |info| info.total_retrans().is_some()),
            (136, |info| info.pacing_rate().is_some()),
            (136, |info| info.bytes_received().is_some()),
            (192, |info| info.min_rtt_us().is_some()),
            (192, |info| info.app_limited().is_some()),
            (192, |info| info.sndbuf_limited_us().is_some()),
            (224, |info| info.delivered().is_some()),
            (224, |info| info.bytes_retrans().is_some()),
            (232, |info| info.snd_wnd().is_some()),
            (240, |info| info.rcv_wnd().is_some()),
            (248, |info| info.total_rto().is_some()),
        ];
        for length in LENGTHS {
            let bytes = counted(length);
            for (first, present) in since {
                assert_eq!(
                    present(TcpInfo(&bytes)),
                    length >= first,
                    "length {length}, since {first}"
                );
            }
        }
    }

    #[test]
    fn a_field_is_read_at_its_offset_in_the_byte_order_of_the_machine() {
        let bytes = counted(248);
        let info = TcpInfo(&bytes);
        assert_eq!(info.rtt_us(), Some(u32::from_ne_bytes([68, 69, 70, 71])));
        assert_eq!(
            info.bytes_sent(),
            Some(u64::from_ne_bytes([200, 201, 202, 203, 204, 205, 206, 207]))
        );
        assert_eq!(info.total_rto(), Some(u16::from_ne_bytes([240, 241])));
        assert_eq!(
            SkMemInfo(&bytes).drops(),
            Some(u32::from_ne_bytes([32, 33, 34, 35]))
        );
    }

    // `ss -tinm` said, of the same socket at the same time: cubic rto:240 rtt:37.225/1.169 mss:1448 cwnd:32
    // ssthresh:26 bytes_sent:2004344 bytes_retrans:4344 bytes_acked:2000001 bytes_received:1 segs_out:1388
    // segs_in:869 pacing_rate 11949400bps delivery_rate 9912056bps delivered:1383 busy:1688ms retrans:0/3
    // rcv_space:14480 rcv_ssthresh:64088 minrtt:21.296 snd_wnd:510976
    #[test]
    #[cfg(target_endian = "little")]
    fn a_captured_answer_reads_as_ss_reads_it() {
        let bytes = captured();
        let info = TcpInfo(&bytes);
        assert_eq!(info.ca_state(), Some("open"));
        assert_eq!(info.rto_s(), Some(0.24));
        assert_eq!(info.srtt_s(), Some(0.037_225));
        assert_eq!(info.rttvar_s(), Some(0.001_169));
        assert_eq!(info.min_rtt_s(), Some(0.021_296));
        assert_eq!(
            (info.snd_mss(), info.snd_cwnd(), info.ssthresh()),
            (Some(1448), Some(32), Some(26))
        );
        assert_eq!(
            (info.bytes_sent(), info.bytes_retrans()),
            (Some(2_004_344), Some(4344))
        );
        assert_eq!(
            (info.bytes_acked(), info.bytes_received()),
            (Some(2_000_001), Some(1))
        );
        assert_eq!((info.segs_out(), info.segs_in()), (Some(1388), Some(869)));
        assert_eq!((info.retrans(), info.total_retrans()), (Some(0), Some(3)));
        assert_eq!(
            (info.delivered(), info.busy_time_us()),
            (Some(1383), Some(1_688_000))
        );
        assert_eq!(info.pacing_rate_bit_s(), Some(11_949_400.0));
        assert_eq!(info.delivery_rate_bit_s(), Some(9_912_056.0));
        assert_eq!(
            (info.rcv_space(), info.rcv_ssthresh()),
            (Some(14_480), Some(64_088))
        );
        assert_eq!(
            (info.snd_wnd(), info.rcv_wnd()),
            (Some(510_976), Some(64_512))
        );
        assert_eq!(
            (info.in_flight_bytes(), info.app_limited()),
            (Some(0), Some(false))
        );
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn the_shorter_answer_of_an_older_kernel_reads_the_same_as_far_as_it_goes() {
        let bytes = captured();
        let whole = TcpInfo(&bytes);
        for length in LENGTHS {
            let info = TcpInfo(&bytes[..length]);
            assert_eq!(info.srtt_s(), whole.srtt_s());
            assert_eq!(
                info.bytes_acked(),
                whole.bytes_acked().filter(|_| length >= 136)
            );
            assert_eq!(
                info.delivery_rate(),
                whole.delivery_rate().filter(|_| length >= 192)
            );
            assert_eq!(
                info.bytes_sent(),
                whole.bytes_sent().filter(|_| length >= 224)
            );
            assert_eq!(info.rcv_wnd(), whole.rcv_wnd().filter(|_| length >= 240));
        }
    }

    #[test]
    fn what_the_kernel_marks_as_not_known_is_none() {
        let mut bytes = [0; 248];
        bytes[76..80].copy_from_slice(&INFINITE_SSTHRESH.to_ne_bytes());
        bytes[104..112].fill(0xff);
        bytes[148..152].fill(0xff);
        let info = TcpInfo(&bytes);
        assert_eq!(info.ssthresh(), None);
        assert_eq!(info.pacing_rate_bit_s(), None);
        assert_eq!(info.min_rtt_s(), None);
        assert_eq!(info.srtt_s(), None);
        assert_eq!(info.rttvar_s(), None);
        assert_eq!(info.rcv_rtt_s(), None);
    }

    #[test]
    fn what_is_in_flight_counts_retransmissions_and_not_what_is_sacked_or_lost() {
        let mut bytes = [0; 104];
        for (at, value) in [(16, 1448_u32), (24, 100), (28, 20), (32, 5), (36, 3)] {
            bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        assert_eq!(TcpInfo(&bytes).in_flight_bytes(), Some(78 * 1448));
    }

    #[test]
    fn an_unknown_recovery_state_has_no_name() {
        assert_eq!(TcpInfo(&[1, 4]).ca_state(), Some("loss"));
        assert_eq!(TcpInfo(&[1, 5]).ca_state(), None);
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_read(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let info = TcpInfo(&bytes);
            prop_assert_eq!(info.in_flight_bytes().is_some(), bytes.len() >= 40);
            prop_assert_eq!(info.app_limited().is_some(), bytes.len() >= 168);
            prop_assert_eq!(SkMemInfo(&bytes).drops().is_some(), bytes.len() >= 36);
        }
    }
}
