//! Whatever bytes come on a carrier's stream, however they are cut: frames are read or refused, the same ones in every cut, the reader holds no more
//! than one frame, and a frame that was read is written as the same bytes.

#![no_main]

use bentpipe_carrier::framing::{
    Frame, FramingError, HEADER_BYTES, Kind, MAX_BODY_BYTES, Reader, Stream, write, write_close,
};
use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;

fn read(stream: Stream, bytes: &[u8], cut: usize) -> (Vec<Frame>, Option<FramingError>) {
    let mut reader = Reader::new(stream);
    let mut frames = Vec::new();
    for mut piece in bytes.chunks(cut) {
        while !piece.is_empty() {
            let taken = reader.push(piece);
            assert!(taken > 0, "there is room after every frame was taken");
            piece = &piece[taken..];
            loop {
                assert!(reader.held_bytes() <= HEADER_BYTES + MAX_BODY_BYTES);
                match reader.next_frame() {
                    Ok(Some(frame)) => frames.push(frame),
                    Ok(None) => break,
                    Err(error) => {
                        assert_eq!(reader.next_frame(), Err(error));
                        return (frames, Some(error));
                    }
                }
            }
        }
    }
    (frames, None)
}

fuzz_target!(|input: (bool, u16, &[u8])| {
    let (tls, cut, bytes) = input;
    let stream = if tls {
        Stream::Tls
    } else {
        Stream::QuicControl
    };
    let (frames, error) = read(stream, bytes, usize::from(cut).max(1));
    assert_eq!((&frames, error), {
        let (whole, error) = read(stream, bytes, bytes.len().max(1));
        assert_eq!(frames, whole);
        (&frames, error)
    });
    let mut written = BytesMut::new();
    for frame in &frames {
        assert!(tls || matches!(frame, Frame::Open | Frame::Control(_)));
        match frame {
            Frame::Open => write(Kind::Open, &[], &mut written),
            Frame::Control(body) => write(Kind::Control, body, &mut written),
            Frame::Datagram(body) => write(Kind::Datagram, body, &mut written),
            Frame::Close { code, reason } => write_close(*code, reason, &mut written),
        }
    }
    // A reason that is not UTF-8 is read with replacements.
    let replaced =
        |frame: &Frame| matches!(frame, Frame::Close { reason, .. } if reason.contains('\u{fffd}'));
    if !frames.iter().any(replaced) {
        assert_eq!(written, bytes[..written.len()]);
    }
});
