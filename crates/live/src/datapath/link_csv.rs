//! The `link` table's spool file: the meter's bins of both pipes as they come.

use bentpipe_path::Bin;
use bentpipe_spool::link;
use std::io::{self, Write};
use std::sync::mpsc::Receiver;

/// Writes bins until both pipes have ended.
pub fn write<W: Write>(mut out: W, bins: &Receiver<(&'static str, Bin)>) -> io::Result<()> {
    link::header(&mut out)?;
    while let Ok((pipe, bin)) = bins.recv() {
        link::row(&mut out, pipe, &bin)?;
    }
    out.flush()
}
