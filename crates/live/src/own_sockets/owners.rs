//! Whose a socket is: the sockets that a process and its children hold, by the links in `/proc/PID/fd`.

use std::collections::{HashMap, HashSet};
use std::fs;

/// How often a socket is looked for before it counts as another's: between its first byte and its descriptor is a moment.
const TRIES: u8 = 3;

#[derive(Debug)]
pub(super) struct Owners {
    /// All that were ever found: a child whose parent has ended is still one.
    processes: Vec<u32>,
    inodes: HashSet<u32>,
    is_fresh: bool,
    tries: HashMap<u64, u8>,
}

impl Owners {
    pub(super) fn new(processes: &[u32]) -> Self {
        Self {
            processes: processes.to_vec(),
            inodes: HashSet::new(),
            is_fresh: false,
            tries: HashMap::new(),
        }
    }

    pub(super) fn next_look(&mut self) {
        self.is_fresh = false;
    }

    /// `None`: not known yet. Looks at the processes at most once in a look at the sockets.
    pub(super) fn owns(&mut self, cookie: u64, inode: u32) -> Option<bool> {
        if inode == 0 {
            return None;
        }
        if !self.inodes.contains(&inode) && !self.is_fresh {
            self.find();
            self.is_fresh = true;
        }
        if self.inodes.contains(&inode) {
            self.tries.remove(&cookie);
            return Some(true);
        }
        let tries = self.tries.entry(cookie).or_default();
        *tries += 1;
        if *tries < TRIES {
            return None;
        }
        self.tries.remove(&cookie);
        Some(false)
    }

    fn find(&mut self) {
        let mut at = 0;
        while let Some(&process) = self.processes.get(at) {
            for child in children(process) {
                if !self.processes.contains(&child) {
                    self.processes.push(child);
                }
            }
            at += 1;
        }
        self.processes
            .retain(|process| fs::exists(format!("/proc/{process}")).unwrap_or(false));
        self.inodes = self
            .processes
            .iter()
            .flat_map(|&process| inodes(process))
            .collect();
    }
}

/// Of all its threads.
fn children(process: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else {
        return Vec::new();
    };
    let listed = threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    listed
        .flat_map(|line| {
            let numbers = line.split_whitespace().filter_map(|word| word.parse().ok());
            numbers.collect::<Vec<u32>>()
        })
        .collect()
}

/// Of its sockets. Empty where its descriptors may not be seen.
fn inodes(process: u32) -> Vec<u32> {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{process}/fd")) else {
        return Vec::new();
    };
    descriptors
        .flatten()
        .filter_map(|each| {
            let target = fs::read_link(each.path()).ok()?;
            let number = target
                .to_str()?
                .strip_prefix("socket:[")?
                .strip_suffix(']')?;
            number.parse().ok()
        })
        .collect()
}
