//! A writer of pcapng captures with nanosecond time stamps (draft-ietf-opsawg-pcapng, sections 4.1 to 4.6), in
//! this machine's byte order, one section and one interface.

use std::io::{self, Write};

/// Raw IP, version told by the first four bits (<https://www.tcpdump.org/linktypes.html>).
const LINKTYPE_RAW: u16 = 101;
/// Longest packet that will be written; none is cut.
const SNAPLEN: u32 = 262_144;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

const OPT_COMMENT: u16 = 1;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TSRESOL: u16 = 9;
const EPB_FLAGS: u16 = 2;
const ISB_IFRECV: u16 = 4;
const ISB_IFDROP: u16 = 5;

const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

/// Which way a packet went, as the host of the interface sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterfaceDirection {
    In,
    Out,
}

#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    block: Vec<u8>,
    packets: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a capture at an interface of this name.
    pub fn new(out: W, interface: &str, description: &str) -> io::Result<Self> {
        let mut writer = Self {
            out,
            block: Vec::with_capacity(2048),
            packets: 0,
        };
        writer.u32(0x1a2b_3c4d);
        writer.u16(1);
        writer.u16(0);
        writer.u64(u64::MAX); // the section's length: not given
        writer.option(
            SHB_USERAPPL,
            concat!("bentpipe ", env!("CARGO_PKG_VERSION")).as_bytes(),
        );
        writer.end_of_options();
        writer.end_block(SECTION_HEADER)?;

        writer.u16(LINKTYPE_RAW);
        writer.u16(0);
        writer.u32(SNAPLEN);
        writer.option(IF_NAME, interface.as_bytes());
        writer.option(IF_DESCRIPTION, description.as_bytes());
        writer.option(IF_TSRESOL, &[9]);
        writer.end_of_options();
        writer.end_block(INTERFACE_DESCRIPTION)?;
        Ok(writer)
    }

    /// One packet, at nanoseconds since 1970.
    pub fn packet(
        &mut self,
        at_ns: u64,
        direction: InterfaceDirection,
        packet: &[u8],
    ) -> io::Result<()> {
        self.packets += 1;
        let length = packet.len() as u32;
        self.u32(0);
        self.timestamp(at_ns);
        self.u32(length);
        self.u32(length);
        self.padded(packet);
        let flags = match direction {
            InterfaceDirection::In => INBOUND,
            InterfaceDirection::Out => OUTBOUND,
        };
        self.option(EPB_FLAGS, &flags.to_ne_bytes());
        self.end_of_options();
        self.end_block(ENHANCED_PACKET)
    }

    /// Ends the capture, and tells how many frames are missing from it.
    pub fn finish(mut self, at_ns: u64, dropped: u64) -> io::Result<W> {
        self.u32(0);
        self.timestamp(at_ns);
        if dropped > 0 {
            self.option(
                OPT_COMMENT,
                b"the disk was too slow: frames are missing from this capture",
            );
        }
        self.option(ISB_IFRECV, &(self.packets + dropped).to_ne_bytes());
        self.option(ISB_IFDROP, &dropped.to_ne_bytes());
        self.end_of_options();
        self.end_block(INTERFACE_STATISTICS)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn timestamp(&mut self, at_ns: u64) {
        self.u32((at_ns >> 32) as u32);
        self.u32(at_ns as u32);
    }

    fn u16(&mut self, value: u16) {
        self.block.extend_from_slice(&value.to_ne_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.block.extend_from_slice(&value.to_ne_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.block.extend_from_slice(&value.to_ne_bytes());
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.u16(code);
        self.u16(value.len() as u16);
        self.padded(value);
    }

    fn end_of_options(&mut self) {
        self.u32(0);
    }

    fn end_block(&mut self, kind: u32) -> io::Result<()> {
        let length = (self.block.len() as u32 + 12).to_ne_bytes();
        self.out.write_all(&kind.to_ne_bytes())?;
        self.out.write_all(&length)?;
        self.out.write_all(&self.block)?;
        self.out.write_all(&length)?;
        self.block.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Walks the blocks: kind and body of each, after checking that both lengths agree.
    fn blocks(mut bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let word = |bytes: &[u8], at: usize| {
            u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
        };
        let mut found = Vec::new();
        while !bytes.is_empty() {
            let length = word(bytes, 4) as usize;
            assert_eq!(length % 4, 0);
            assert_eq!(word(bytes, length - 4) as usize, length);
            found.push((word(bytes, 0), bytes[8..length - 4].to_vec()));
            bytes = &bytes[length..];
        }
        found
    }

    #[test]
    fn a_capture_is_a_section_an_interface_its_packets_and_their_count() {
        let mut writer =
            Writer::new(Vec::new(), "client", "the client's end").expect("a Vec takes all");
        writer
            .packet(5_000_000_007, InterfaceDirection::Out, &[0x45; 21])
            .expect("a Vec takes all");
        let bytes = writer.finish(6_000_000_000, 3).expect("a Vec takes all");
        let blocks = blocks(&bytes);
        let kinds: Vec<u32> = blocks.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(
            kinds,
            [
                SECTION_HEADER,
                INTERFACE_DESCRIPTION,
                ENHANCED_PACKET,
                INTERFACE_STATISTICS
            ]
        );
        let packet = &blocks[2].1;
        assert_eq!(
            packet[4..8],
            1_u32.to_ne_bytes(),
            "5.000000007 s is 1 x 2^32 ns and the rest"
        );
        assert_eq!(packet[8..12], (5_000_000_007_u64 as u32).to_ne_bytes());
        assert_eq!(packet[12..16], 21_u32.to_ne_bytes());
        assert_eq!(packet[20..41], [0x45; 21]);
        assert_eq!(packet[41..44], [0; 3], "padded to four bytes");
        assert!(
            blocks[3]
                .1
                .windows(8)
                .any(|eight| eight == 4_u64.to_ne_bytes())
        );
    }
}
