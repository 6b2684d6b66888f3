//! Segment scripts in the manner of packetdrill: one socket, a peer that the script plays, virtual time.
//!
//! A script is lines of `TIME ACTOR WORDS`, times in milliseconds from the handshake's end, data counted in full segments
//! (`0..10`: the first ten; `3+500`: 500 bytes that begin where segment 3 would).
//!
//! ```text
//!    0  app  write 10        the application offers ten segments (also: `write 500b`, `close`, `abort`)
//!    0  >    data 0..10      these leave, exactly now; nothing may leave that no line names; each with `cwr`, `ect`, `psh` or
//!                            without PSH (`more`)
//!  100  <    ack 2           the peer's ACK arrives; also `sack 4..6`, `dsack 1..2`, `win BYTES`, `ece`, `echo MS`
//!  100  <    data 0..1       the peer's data arrives; also `ce`, `cwr`, `fin`, `psh`; or a zero-window `probe`
//!  140  >    ack 1           a pure ACK leaves; also `sack`, `dsack`, `ece`, `win`; `rst` is a reset
//!  200  is   cwnd 12 ssthresh 7 state Recovery
//! ```
//! An ACK echoes the timestamp of what left one RTT before, unless `echo` says otherwise. What arrives was sent in that order,
//! unless `due MS` says that it was sent so early as to arrive then.

use bentpipe_base::{Ecn, Time};
use bentpipe_tcp::segment::{SackBlocks, Segment, SynOptions, flag};
use bentpipe_tcp::{Config, Notice, Outbox, Socket};
use std::collections::VecDeque;
use std::sync::Arc;

pub struct Script {
    socket: Socket,
    out: Outbox,
    sent: VecDeque<(Time, Segment)>,
    pub notices: Vec<Notice>,
    now: Time,
    rtt: i64,
    mss: u64,
    timestamps: bool,
    ts_zero: u32,
    window: u32,
    /// What the peer has received in order from the socket, and sent to it.
    peer_next: u64,
}

fn ms(text: &str) -> i64 {
    (text.parse::<f64>().expect("a time in ms") * 1e6) as i64
}

impl Script {
    /// A connection opened by the socket, established at time zero with this RTT in milliseconds.
    pub fn new(rtt_ms: i64, set: impl FnOnce(&mut Config)) -> Self {
        Self::with_peer(rtt_ms, set, |_| {})
    }

    /// The same with a peer whose window is this from the start.
    pub fn with_window(rtt_ms: i64, bytes: u32, set: impl FnOnce(&mut Config)) -> Self {
        Self::build(rtt_ms, bytes, set, |_| {})
    }

    pub fn with_peer(
        rtt_ms: i64,
        set: impl FnOnce(&mut Config),
        peer: impl FnOnce(&mut Segment),
    ) -> Self {
        Self::build(rtt_ms, 8_000_000, set, peer)
    }

    fn build(
        rtt_ms: i64,
        window: u32,
        set: impl FnOnce(&mut Config),
        peer: impl FnOnce(&mut Segment),
    ) -> Self {
        let mut config = Config {
            congestion_control: "reno".into(),
            // The RFCs' own times.
            tick_ns: bentpipe_base::Nanos::ZERO,
            ..Config::default()
        };
        set(&mut config);
        let config = Arc::new(config);
        let mut out = Outbox::default();
        let start = Time(-rtt_ms * 1_000_000);
        let mut socket = Socket::connect(&config, 1500, 7, start, &mut out).expect("a known name");
        let syn = out.packets.pop().expect("a SYN");
        assert!(syn.has(flag::SYN) && out.packets.is_empty());
        let mut answer = Segment {
            flags: flag::SYN | flag::ACK,
            ack: 1,
            window: window.min(65_535) as u16,
            timestamps: syn.timestamps.map(|(value, _)| (1, value)),
            syn: SynOptions {
                mss: 1460,
                window_scale: syn.syn.window_scale.map(|_| 7),
                sack_permitted: syn.syn.sack_permitted,
            },
            segments: 1,
            ..Segment::default()
        };
        if config.ecn {
            answer.flags |= flag::ECE;
        }
        peer(&mut answer);
        socket.on_segment(Time::ZERO, &answer, &mut out);
        let ack = out.packets.pop().expect("the handshake's last ACK");
        assert!(ack.payload == 0 && ack.has(flag::ACK));
        let timestamps = answer.timestamps.is_some();
        let mut script = Self {
            socket,
            sent: VecDeque::new(),
            notices: core::mem::take(&mut out.notices),
            out,
            now: Time::ZERO,
            rtt: rtt_ms,
            mss: if timestamps { 1448 } else { 1460 },
            timestamps,
            ts_zero: syn
                .timestamps
                .map_or(0, |(value, _)| value.wrapping_add(rtt_ms as u32)),
            window: if answer.syn.window_scale.is_some() {
                window
            } else {
                window.min(65_535)
            },
            peer_next: 1,
        };
        // The peer's window as it stays: a first change of it would not count as a duplicate ACK.
        script.arrive(&[]);
        assert!(script.sent.is_empty());
        script
    }

    fn collect(&mut self) {
        for packet in self.out.packets.drain(..) {
            self.sent.push_back((self.now, packet));
        }
        self.notices.append(&mut self.out.notices);
    }

    fn advance(&mut self, to: Time) {
        while let Some(at) = self.socket.next_timer().filter(|&at| at <= to) {
            self.now = at.max(self.now);
            self.socket.on_timer(self.now, &mut self.out);
            self.collect();
        }
        self.now = to;
    }

    fn place(&self, text: &str) -> u64 {
        let (segments, bytes) = text.split_once('+').unwrap_or((text, "0"));
        1 + segments.parse::<u64>().expect("a segment") * self.mss
            + bytes.parse::<u64>().expect("bytes")
    }

    fn range(&self, text: &str) -> (u64, u64) {
        if let Some((from, to)) = text.split_once("..") {
            (self.place(from), self.place(to))
        } else {
            let (segment, bytes) = text.split_once('+').expect("a range `a..b` or `a+bytes`");
            let start = self.place(segment);
            (start, start + bytes.parse::<u64>().expect("bytes"))
        }
    }

    pub fn run(mut self, script: &str) -> Self {
        for (number, line) in script.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("").trim();
            if line.is_empty() {
                continue;
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            let at = Time(ms(words[0]));
            let place = format!("line {}: {line}", number + 1);
            match words[1] {
                ">" => self.expect(at, &words[2..], &place),
                "<" => {
                    self.quiet_until(at, &place);
                    self.arrive(&words[2..]);
                }
                "app" => {
                    self.quiet_until(at, &place);
                    self.application(&words[2..]);
                }
                "is" => {
                    self.advance(at);
                    self.check(&words[2..], &place);
                }
                other => panic!("{place}: no actor `{other}`"),
            }
        }
        let left: Vec<String> = self.sent.iter().map(|sent| self.show(sent)).collect();
        assert!(left.is_empty(), "left over at the end: {left:?}");
        self
    }

    fn quiet_until(&mut self, at: Time, place: &str) {
        // What is due at this very instant belongs to the lines after this one's event.
        self.advance(Time(at.0 - 1));
        self.now = at;
        let left: Vec<String> = self.sent.iter().map(|sent| self.show(sent)).collect();
        assert!(left.is_empty(), "{place}: left before it: {left:?}");
    }

    fn show(&self, (at, packet): &(Time, Segment)) -> String {
        let segment = |seq: u64| {
            let bytes = seq.wrapping_sub(1);
            if bytes.is_multiple_of(self.mss) {
                format!("{}", bytes / self.mss)
            } else {
                format!("{}+{}", bytes / self.mss, bytes % self.mss)
            }
        };
        let sacks: Vec<String> = packet
            .sack
            .iter(packet.ack)
            .map(|(start, end)| format!("{}..{}", segment(start), segment(end)))
            .collect();
        format!(
            "{} ms: flags {:02x} {}..{} ack {} win {} sack {sacks:?}",
            at.0 as f64 / 1e6,
            packet.flags,
            segment(packet.seq),
            segment(packet.end_seq()),
            segment(packet.ack),
            packet.window
        )
    }

    fn expect(&mut self, at: Time, words: &[&str], place: &str) {
        self.advance(at);
        let mut rest = words;
        match rest[0] {
            "data" => {
                let (mut seq, end) = self.range(rest[1]);
                rest = &rest[2..];
                let fin = rest.contains(&"fin");
                while seq < end || (fin && seq == end) {
                    let (sent_at, packet) = self.take(at, place);
                    let shown = self.show(&(sent_at, packet));
                    assert_eq!(packet.seq, seq, "{place}: {shown}");
                    assert!(packet.payload > 0 || fin, "{place}: no payload: {shown}");
                    seq += u64::from(packet.payload);
                    assert!(seq <= end, "{place}: too long: {shown}");
                    if packet.has(flag::FIN) {
                        assert!(fin && seq == end, "{place}: a FIN: {shown}");
                        break;
                    }
                    for word in rest {
                        let holds = match *word {
                            "cwr" => packet.has(flag::CWR),
                            "ect" => packet.ecn == Ecn::Ect0,
                            "psh" => packet.has(flag::PSH),
                            "more" => !packet.has(flag::PSH),
                            _ => true,
                        };
                        assert!(holds, "{place}: not {word}: {shown}");
                    }
                }
            }
            "ack" => {
                let (sent_at, packet) = self.take(at, place);
                let shown = self.show(&(sent_at, packet));
                assert_eq!(packet.payload, 0, "{place}: {shown}");
                assert_eq!(packet.ack, self.place(rest[1]), "{place}: {shown}");
                rest = &rest[2..];
                let mut blocks = vec![];
                let mut ece = false;
                while let Some(&word) = rest.first() {
                    match word {
                        "sack" | "dsack" => {
                            blocks.push(self.range(rest[1]));
                            rest = &rest[1..];
                        }
                        "ece" => ece = true,
                        "win" => {
                            assert_eq!(
                                packet.window,
                                rest[1].parse::<u16>().expect("a window"),
                                "{place}: {shown}"
                            );
                            rest = &rest[1..];
                        }
                        other => panic!("{place}: no word `{other}`"),
                    }
                    rest = &rest[1..];
                }
                let found: Vec<(u64, u64)> = packet.sack.iter(packet.ack).collect();
                assert_eq!(found, blocks, "{place}: {shown}");
                assert_eq!(packet.has(flag::ECE), ece, "{place}: {shown}");
            }
            "rst" => {
                let (sent_at, packet) = self.take(at, place);
                let shown = self.show(&(sent_at, packet));
                assert!(packet.has(flag::RST), "{place}: {shown}");
            }
            "probe" => {
                let (sent_at, packet) = self.take(at, place);
                let shown = self.show(&(sent_at, packet));
                assert!(
                    packet.payload == 0 && packet.seq < self.socket.window().snd_una,
                    "{place}: {shown}"
                );
            }
            other => panic!("{place}: no packet `{other}`"),
        }
    }

    fn take(&mut self, at: Time, place: &str) -> (Time, Segment) {
        let Some((sent_at, packet)) = self.sent.pop_front() else {
            panic!("{place}: nothing left")
        };
        assert_eq!(sent_at, at, "{place}: {}", self.show(&(sent_at, packet)));
        (sent_at, packet)
    }

    fn arrive(&mut self, words: &[&str]) {
        let mut packet = Segment {
            flags: flag::ACK,
            seq: self.peer_next,
            ack: self.socket.window().snd_una.max(1),
            segments: 1,
            wire_bytes: 52,
            ..Segment::default()
        };
        let mut echo = (self.now.0 / 1_000_000 - self.rtt) as u32;
        let mut due = self.now.0 / 1_000_000;
        let mut blocks = vec![];
        let mut rest = words;
        while let Some(&word) = rest.first() {
            let mut next = || {
                rest = &rest[1..];
                rest[0]
            };
            match word {
                "ack" => packet.ack = self.place(next()),
                "data" => {
                    let (start, end) = self.range(next());
                    packet.seq = start;
                    packet.payload = (end - start) as u32;
                    packet.wire_bytes += packet.payload;
                }
                "sack" | "dsack" => blocks.push(self.range(next())),
                "win" => self.window = next().parse().expect("a window"),
                "echo" => echo = next().parse::<i32>().expect("ms") as u32,
                "probe" => packet.seq -= 1,
                "due" => due = next().parse().expect("ms"),
                "ece" => packet.flags |= flag::ECE,
                "cwr" => packet.flags |= flag::CWR,
                "fin" => packet.flags |= flag::FIN,
                "rst" => packet.flags |= flag::RST,
                "psh" => packet.flags |= flag::PSH,
                "ce" => packet.ecn = Ecn::Ce,
                other => panic!("no word `{other}`"),
            }
            rest = &rest[1..];
        }
        let mut sack = SackBlocks::default();
        for (start, end) in blocks {
            sack.push(packet.ack, start, end);
        }
        packet.sack = sack;
        packet.window = if self.socket.config().window_scaling {
            self.window >> 7
        } else {
            self.window
        } as u16;
        if self.timestamps {
            let value = (1 + due + self.rtt) as u32;
            packet.timestamps = Some((value, self.ts_zero.wrapping_add(echo)));
        }
        self.socket.on_segment(self.now, &packet, &mut self.out);
        if packet.seq == self.peer_next {
            self.peer_next = packet.end_seq();
        }
        self.collect();
    }

    fn application(&mut self, words: &[&str]) {
        match words[0] {
            "write" => {
                let bytes = match words[1].strip_suffix('b') {
                    Some(bytes) => bytes.parse().expect("bytes"),
                    None => words[1].parse::<u64>().expect("segments") * self.mss,
                };
                self.socket.write(self.now, bytes, &mut self.out);
            }
            "close" => self.socket.close(self.now, &mut self.out),
            "abort" => self.socket.abort(self.now, &mut self.out),
            other => panic!("the application cannot `{other}`"),
        }
        self.collect();
    }

    fn check(&mut self, words: &[&str], place: &str) {
        let sample = self.socket.sample(self.now);
        for pair in words.chunks(2) {
            let found = match pair[0] {
                "cwnd" => sample.cwnd_segments.to_string(),
                "ssthresh" => sample
                    .ssthresh_segments
                    .map_or("none".into(), |s| s.to_string()),
                "state" => sample.ca_state.to_string(),
                "tcp" => sample.state.to_string(),
                "out" => sample.unacked_segments.to_string(),
                "lost" => sample.lost_segments.to_string(),
                "sacked" => sample.sacked_segments.to_string(),
                "retransmitted" => sample.retransmits.to_string(),
                "retrans_out" => sample.retrans_segments.to_string(),
                "reordering" => sample.reordering.to_string(),
                "timeouts" => sample.total_rto.to_string(),
                "rto" => (sample.rto.0 / 1_000_000).to_string(),
                "srtt" => (sample.srtt.0 / 1_000_000).to_string(),
                "min_rtt" => sample
                    .min_rtt
                    .map_or("none".into(), |least| (least.0 / 1_000_000).to_string()),
                "rwnd_limited" => (sample.rwnd_limited.0 / 1_000_000).to_string(),
                "sndbuf_limited" => (sample.sndbuf_limited.0 / 1_000_000).to_string(),
                "busy" => (sample.busy.0 / 1_000_000).to_string(),
                "app_limited" => sample.app_limited.to_string(),
                "read" => self.socket.bytes_read().to_string(),
                other => panic!("{place}: no figure `{other}`"),
            };
            assert_eq!(
                found.to_lowercase(),
                pair[1].to_lowercase(),
                "{place}: {}",
                pair[0]
            );
        }
    }
}
