//! The least that any datapath must do: a loop per direction that reads from one device and writes to the other.

use crate::bed::Bed;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

pub struct Copier {
    stop: Arc<AtomicBool>,
    threads: [JoinHandle<io::Result<()>>; 2],
}

pub fn start(bed: &Bed) -> io::Result<Copier> {
    let stop = Arc::new(AtomicBool::new(false));
    let copy = |from: &OwnedFd, to: &OwnedFd| {
        let (from, to, stop) = (from.try_clone()?, to.try_clone()?, Arc::clone(&stop));
        Ok::<_, io::Error>(std::thread::spawn(move || forward(&from, &to, &stop)))
    };
    let (client, server) = (&bed.client.device, &bed.server.device);
    Ok(Copier {
        threads: [copy(client, server)?, copy(server, client)?],
        stop,
    })
}

impl Copier {
    pub fn stop(self) -> io::Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread
                .join()
                .map_err(|_| io::Error::other("a thread ended in a panic"))??;
        }
        Ok(())
    }
}

fn forward(from: &OwnedFd, to: &OwnedFd, stop: &AtomicBool) -> io::Result<()> {
    let mut frame = vec![0; 66_000];
    let turn = Timespec {
        tv_sec: 0,
        tv_nsec: 100_000_000,
    };
    while !stop.load(Ordering::Relaxed) {
        match rustix::io::read(from, &mut frame) {
            Ok(length) => {
                rustix::io::write(to, &frame[..length])?;
            }
            Err(rustix::io::Errno::AGAIN) => {
                let mut fds = [PollFd::from_borrowed_fd(from.as_fd(), PollFlags::IN)];
                poll(&mut fds, Some(&turn))?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
