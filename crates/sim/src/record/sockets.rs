//! The `sockets` table of simulated sockets, and which of them a sample has to look at.

use super::figures::Figures;
use super::socket_row::row;
use crate::seat::Seat;
use crate::world::{Sample, SeenSocket};
use bentpipe_path::time::{Nanos, Time};
use bentpipe_tables::samples;
use bentpipe_tables::samples::Wanted;
use std::io::{self, Write};

/// Writes samples. At each it looks at the sockets to which something has happened; what it knows of the others is how
/// their waits go on.
pub(crate) struct SocketSamples<'a, W: Write + Send> {
    names: &'a [String],
    table: samples::Writer<W>,
    /// By end and place in the slab of connections.
    known: Vec<Vec<Known>>,
    /// By end, a bit for each place: whether a wait grows there.
    growing: Vec<Vec<u64>>,
    /// Open sockets by host.
    open: [u32; Seat::ALL.len()],
}

/// A socket when something had last happened to it.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// Where it is open.
    host: Option<Seat>,
    /// The host's time.
    at: Time,
    waits: [Nanos; 3],
    growing: [bool; 3],
}

impl<'a, W: Write + Send> SocketSamples<'a, W> {
    /// Of places with so many ends.
    pub fn create(names: &'a [String], ends: usize, out: W) -> io::Result<Self> {
        Ok(Self {
            names,
            table: samples::Writer::create(out)?,
            known: vec![Vec::new(); ends],
            growing: vec![Vec::new(); ends],
            open: [0; Seat::ALL.len()],
        })
    }

    pub fn finish(self) -> io::Result<W> {
        self.table.finish()
    }

    pub fn sample(&mut self, sample: Sample<'_>, figures: &mut Figures) -> io::Result<()> {
        self.table.begin(sample.time())?;
        let words = sample.places().div_ceil(64);
        for (known, growing) in self.known.iter_mut().zip(&mut self.growing) {
            known.resize(64 * words, Known::default());
            growing.resize(words, 0);
        }
        let present = Seat::ALL.map(|host| sample.present(host));
        for word in 0..words {
            let touched = sample.touched(word);
            let growing = self.growing.iter().map(|end| end[word]);
            let mut places = touched
                .into_iter()
                .chain(growing)
                .fold(0, |all, it| all | it);
            while places != 0 {
                let bit = places.trailing_zeros();
                places &= places - 1;
                let place = 64 * word + bit as usize;
                for end in 0..self.known.len() {
                    let (host, _) = sample.end(place, end);
                    if touched[host as usize] >> bit & 1 == 1 {
                        self.changed(sample, place, end);
                    } else if self.growing[end][word] >> bit & 1 == 1 {
                        let slot = self.slot(place, end);
                        self.table.waited(slot);
                    }
                }
            }
        }
        while let Some(wanted) = self.table.next_wanted() {
            match wanted {
                Wanted::Row(slot) => self.look(sample, slot, present, figures),
                Wanted::Waits(slot) => {
                    let (place, end) = self.at(slot);
                    let (host, _) = sample.end(place, end);
                    let known = &self.known[end][place];
                    self.table.waits(known.waits_at(present[host as usize]));
                }
            }
        }
        for host in Seat::ALL {
            if self.open[host as usize] > 0 {
                figures.sampled(host, sample.time());
            }
        }
        Ok(())
    }

    /// The number of a place and end for the table: those at a server's side are odd.
    fn slot(&self, place: usize, end: usize) -> usize {
        self.known.len() * place + end
    }

    /// The place and end of that number.
    fn at(&self, slot: usize) -> (usize, usize) {
        (slot / self.known.len(), slot % self.known.len())
    }

    /// At a place where something has happened: a socket may have come, changed or gone.
    #[inline]
    fn changed(&mut self, sample: Sample<'_>, place: usize, end: usize) {
        let host = sample.socket(place, end).map(|seen| seen.host);
        let slot = self.slot(place, end);
        if host.is_some() {
            self.table.changed(slot);
        } else {
            self.table.gone(slot);
            self.growing[end][place / 64] &= !(1 << (place % 64));
        }
        let known = &mut self.known[end][place];
        let before = core::mem::replace(&mut known.host, host);
        if let Some(host) = before {
            self.open[host as usize] -= 1;
        }
        if let Some(host) = host {
            self.open[host as usize] += 1;
        }
    }

    /// At an open socket.
    #[inline]
    fn look(
        &mut self,
        sample: Sample<'_>,
        slot: usize,
        present: [Time; Seat::ALL.len()],
        figures: &mut Figures,
    ) {
        let (place, end) = self.at(slot);
        let Some(seen) = sample.socket(place, end) else {
            return;
        };
        figures.socket(&seen);
        let line = seen.row();
        let raw = row(&self.names[line.workload], &line).raw();
        if !self.table.row(slot, &raw) {
            self.whole_row(slot, &seen);
        }
        let known = &mut self.known[end][place];
        known.at = present[seen.host as usize];
        known.waits = seen.waits();
        known.growing = seen.growing_waits();
        let grows = u64::from(known.growing.contains(&true));
        let growing = &mut self.growing[end][place / 64];
        *growing = *growing & !(1 << (place % 64)) | grows << (place % 64);
    }

    #[cold]
    fn whole_row(&mut self, slot: usize, seen: &SeenSocket<'_>) {
        let line = seen.row();
        self.table
            .whole_row(slot, &row(&self.names[line.workload], &line));
    }
}

impl Known {
    /// While nothing happens to it.
    fn waits_at(&self, present: Time) -> [Nanos; 3] {
        let mut waits = self.waits;
        for (wait, grows) in waits.iter_mut().zip(self.growing) {
            if grows {
                wait.0 += (present - self.at).0;
            }
        }
        waits
    }
}
