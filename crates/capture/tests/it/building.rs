//! Captures made by hand: packets, and the files that hold them.

use bentpipe_capture::{Analysis, Capture, CaptureError};

pub const SYN: u8 = 2;
pub const ACK: u8 = 16;
pub const CLIENT: u8 = 1;
pub const SERVER: u8 = 2;

/// A segment between the client (port 40000) and the server (port 443).
#[derive(Clone, Debug)]
pub struct Tcp {
    pub from: u8,
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub window: u16,
    pub payload: u16,
    pub identification: u16,
    pub options: Vec<u8>,
}

impl Tcp {
    pub fn new(from: u8, seq: u32, ack: u32, payload: u16) -> Self {
        Self {
            from,
            seq,
            ack,
            flags: ACK,
            window: 1000,
            payload,
            identification: 0,
            options: Vec::new(),
        }
    }

    pub fn flags(mut self, flags: u8) -> Self {
        self.flags = flags;
        self
    }

    pub fn window(mut self, window: u16) -> Self {
        self.window = window;
        self
    }

    pub fn identified(mut self, identification: u16) -> Self {
        self.identification = identification;
        self
    }

    pub fn times(mut self, value: u32, echo: u32) -> Self {
        self.options.extend([1, 1, 8, 10]);
        self.options.extend(value.to_be_bytes());
        self.options.extend(echo.to_be_bytes());
        self
    }

    pub fn sack(mut self, blocks: &[(u32, u32)]) -> Self {
        self.options.extend([1, 1, 5, 2 + 8 * blocks.len() as u8]);
        for (left, right) in blocks {
            self.options.extend(left.to_be_bytes());
            self.options.extend(right.to_be_bytes());
        }
        self
    }

    /// Maximum segment size 1460, window scale, SACK permitted.
    pub fn opening(mut self, shift: u8) -> Self {
        self.options
            .extend([2, 4, 5, 180, 1, 3, 3, shift, 1, 1, 4, 2]);
        self
    }

    fn transport(&self) -> Vec<u8> {
        let (from, to) = if self.from == CLIENT {
            (40_000_u16, 443_u16)
        } else {
            (443, 40_000)
        };
        let mut out = Vec::new();
        out.extend(from.to_be_bytes());
        out.extend(to.to_be_bytes());
        out.extend(self.seq.to_be_bytes());
        out.extend(self.ack.to_be_bytes());
        out.extend([((20 + self.options.len()) / 4 * 16) as u8, self.flags]);
        out.extend(self.window.to_be_bytes());
        out.extend([0; 4]);
        out.extend(&self.options);
        out.resize(out.len() + usize::from(self.payload), 0);
        out
    }

    pub fn v4(&self) -> Vec<u8> {
        let transport = self.transport();
        let mut out = vec![0x45, 0];
        out.extend((20 + transport.len() as u16).to_be_bytes());
        out.extend(self.identification.to_be_bytes());
        out.extend([0x40, 0, 64, 6, 0, 0]);
        out.extend([10, 0, 0, self.from]);
        out.extend([10, 0, 0, CLIENT + SERVER - self.from]);
        out.extend(transport);
        out
    }

    pub fn v6(&self, extension: &[u8], next: u8) -> Vec<u8> {
        let transport = self.transport();
        let mut out = vec![0x60, 0, 0, 0];
        out.extend(((extension.len() + transport.len()) as u16).to_be_bytes());
        out.extend([next, 64]);
        for end in [self.from, CLIENT + SERVER - self.from] {
            out.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, end]);
        }
        out.extend(extension);
        out.extend(transport);
        out
    }
}

/// In the byte order of the file.
pub struct Order {
    pub is_big: bool,
}

impl Order {
    pub fn u16(&self, value: u16) -> [u8; 2] {
        if self.is_big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    pub fn u32(&self, value: u32) -> [u8; 4] {
        if self.is_big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    pub fn pcap_head(&self, magic: u32, link: u32) -> Vec<u8> {
        [magic, 0x0002_0004, 0, 0, 96, link]
            .into_iter()
            .flat_map(|word| self.u32(word))
            .collect()
    }

    /// `fraction`: in the file's ticks.
    pub fn pcap_record(&self, seconds: u32, fraction: u32, wire: usize, bytes: &[u8]) -> Vec<u8> {
        let mut out: Vec<u8> = [seconds, fraction, bytes.len() as u32, wire as u32]
            .into_iter()
            .flat_map(|word| self.u32(word))
            .collect();
        out.extend(bytes);
        out
    }

    pub fn block(&self, kind: u32, body: &[u8]) -> Vec<u8> {
        let body_bytes = body.len().next_multiple_of(4);
        let length = self.u32(body_bytes as u32 + 12);
        let mut out = self.u32(kind).to_vec();
        out.extend(length);
        out.extend(body);
        out.resize(8 + body_bytes, 0);
        out.extend(length);
        out
    }

    pub fn section(&self) -> Vec<u8> {
        let mut body = self.u32(0x1a2b_3c4d).to_vec();
        body.extend(self.u16(1));
        body.extend(self.u16(0));
        body.extend([0xff; 8]);
        self.block(0x0a0d_0d0a, &body)
    }

    pub fn interface(&self, link: u16, resolution: Option<u8>) -> Vec<u8> {
        let mut body = self.u16(link).to_vec();
        body.extend([0; 6]);
        if let Some(resolution) = resolution {
            body.extend(self.u16(9));
            body.extend(self.u16(1));
            body.extend([resolution, 0, 0, 0]);
            body.extend([0; 4]);
        }
        self.block(1, &body)
    }

    pub fn enhanced(&self, interface: u32, ticks: u64, wire: usize, bytes: &[u8]) -> Vec<u8> {
        let words = [
            interface,
            (ticks >> 32) as u32,
            ticks as u32,
            bytes.len() as u32,
            wire as u32,
        ];
        let mut body: Vec<u8> = words.into_iter().flat_map(|word| self.u32(word)).collect();
        body.extend(bytes);
        self.block(6, &body)
    }
}

/// A capture of raw IP with nanoseconds: packets and their times.
pub fn raw(packets: &[(i64, Tcp)]) -> Vec<u8> {
    let bytes: Vec<_> = packets.iter().map(|(at, it)| (*at, it.v4())).collect();
    snapped(&bytes, 96)
}

/// The same of any IP packets, of each at most `snap` bytes.
pub fn snapped(packets: &[(i64, Vec<u8>)], snap: usize) -> Vec<u8> {
    let order = Order { is_big: false };
    let mut out = order.pcap_head(0xa1b2_3c4d, 101);
    for (at_ns, bytes) in packets {
        let (seconds, rest) = (at_ns / 1_000_000_000, at_ns % 1_000_000_000);
        let kept = &bytes[..bytes.len().min(snap)];
        out.extend(order.pcap_record(seconds as u32, rest as u32, bytes.len(), kept));
    }
    out
}

/// Hands over a file in pieces of this size.
pub fn in_pieces(file: &[u8], piece: usize) -> Result<Capture, Box<(CaptureError, Capture)>> {
    let mut analysis = Analysis::default();
    let mut held = Vec::new();
    for bytes in file.chunks(piece) {
        held.extend_from_slice(bytes);
        match analysis.feed(&held) {
            Ok((taken, _)) => drop(held.drain(..taken)),
            Err(error) => return Err(Box::new((error, analysis.finish()))),
        }
    }
    match analysis.end(&held) {
        Ok(()) => Ok(analysis.finish()),
        Err(error) => Err(Box::new((error, analysis.finish()))),
    }
}

pub fn read(file: &[u8]) -> Capture {
    in_pieces(file, 4096).expect("a sound capture")
}
