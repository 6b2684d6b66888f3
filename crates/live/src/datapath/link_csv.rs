//! The `link` table as CSV: the meter's bins of both pipes as they come. They are in the file as soon as no other waits, for
//! whoever watches the run.

use bentpipe_path::Bin;
use bentpipe_tables::{Link, csv};
use std::io::{self, Write};
use std::sync::mpsc::Receiver;

/// Writes bins until both pipes have ended.
pub fn write<W: Write>(mut out: W, bins: &Receiver<(&'static str, Bin)>) -> io::Result<()> {
    csv::line(&mut out, Link::COLUMNS.map(|column| column.name))?;
    while let Ok(first) = bins.recv() {
        for (pipe, bin) in core::iter::once(first).chain(bins.try_iter()) {
            csv::line(&mut out, Link::new(pipe, &bin).cells())?;
        }
        out.flush()?;
    }
    out.flush()
}
