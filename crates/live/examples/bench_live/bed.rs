//! Two network namespaces with a TUN device each, and programs run inside them.

use rustix::fs::{Mode, OFlags, open};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub const VNET_BYTES: usize = 10;
/// A window of 14 Gbit/s over 20 ms (the kernel offers about half of a buffer). With much more the sender runs ahead
/// of the machine, and what is measured is a queue in front of the path.
const BUFFERS: &str = "4096 1000000 67108864";

/// One end: its namespace and its device.
pub struct Endpoint {
    namespace: OwnedFd,
    pub device: OwnedFd,
}

/// Client and server: `10.77.0.1` and `fd77::1`, `10.77.0.2` and `fd77::2`.
pub struct Bed {
    pub client: Endpoint,
    pub server: Endpoint,
}

impl Bed {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            client: Endpoint::new("1")?,
            server: Endpoint::new("2")?,
        })
    }
}

impl Endpoint {
    fn new(last: &'static str) -> io::Result<Self> {
        in_thread(move || {
            // SAFETY: only the namespace of this thread changes, which nothing else in the process relies on.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET)? };
            let namespace = open(
                "/proc/thread-self/ns/net",
                OFlags::RDONLY | OFlags::CLOEXEC,
                Mode::empty(),
            )?;
            let device = tun()?;
            std::fs::write("/proc/sys/net/ipv4/tcp_rmem", BUFFERS)?;
            std::fs::write("/proc/sys/net/ipv4/tcp_wmem", BUFFERS)?;
            for line in [
                "link set lo up".to_owned(),
                "link set path mtu 1500 txqueuelen 10000 up".to_owned(),
                format!("address add 10.77.0.{last}/24 dev path"),
                format!("address add fd77::{last}/64 dev path nodad"),
                // From a connection's first segment: set later, by the program, it would inherit BBR's pacing where
                // that is this machine's default.
                "route replace 10.77.0.0/24 dev path congctl cubic".to_owned(),
            ] {
                let status = Command::new("ip").args(line.split(' ')).status()?;
                if !status.success() {
                    return Err(io::Error::other(format!("ip {line}: {status}")));
                }
            }
            // The kernel adds an IPv6 address's own route later, by a worker (addrconf_dad_work in net/ipv6/addrconf.c). Until
            // then packets to it are dropped.
            while !told("ip -6 route show table local")?.contains(&format!("fd77::{last} ")) {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(Self { namespace, device })
        })
    }

    /// Does something in this host; sockets and processes made there stay there.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        in_thread(|| {
            move_into_link_name_space(self.namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
            work()
        })
    }

    /// Starts a program in this host; its output is kept.
    pub fn spawn(&self, line: &str) -> io::Result<Child> {
        self.enter(|| {
            let mut words = line.split(' ');
            Command::new(words.next().unwrap_or_default())
                .args(words)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
        })
    }

    /// Runs a program to its end and gives what it printed.
    pub fn output(&self, line: &str) -> io::Result<String> {
        let output = self.spawn(line)?.wait_with_output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Packets that the device dropped because nobody read in time.
    pub fn dropped(&self) -> io::Result<u64> {
        let text = self.output("cat /proc/net/dev")?;
        let fields = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("path:"));
        let drops = fields.and_then(|fields| fields.split_whitespace().nth(11)?.parse().ok());
        drops.ok_or_else(|| io::Error::other("/proc/net/dev has no line for the device"))
    }
}

/// Runs in a thread of its own, whose namespace may change.
pub fn in_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| scope.spawn(work).join())
        .map_err(|_| io::Error::other("a thread ended in a panic"))?
}

/// What a program prints.
fn told(line: &str) -> io::Result<String> {
    let mut words = line.split(' ');
    let output = Command::new(words.next().unwrap_or_default())
        .args(words)
        .output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn tun() -> io::Result<OwnedFd> {
    let device = open(
        "/dev/net/tun",
        OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK,
        Mode::empty(),
    )?;
    // TUN_F_CSUM, TSO4, TSO6, TSO_ECN, USO4, USO6.
    let offloads: libc::c_ulong = 0x01 | 0x02 | 0x04 | 0x08 | 0x20 | 0x40;
    // SAFETY: an ifreq of zeros is valid, TUNSETIFF reads and writes it; the other two take an int and a value.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(b"path") {
            *to = *from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags =
            (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
        let size = VNET_BYTES as libc::c_int;
        let fd = device.as_raw_fd();
        if libc::ioctl(fd, libc::TUNSETIFF, &raw mut request) < 0
            || libc::ioctl(fd, libc::TUNSETVNETHDRSZ, &raw const size) < 0
            || libc::ioctl(fd, libc::TUNSETOFFLOAD, offloads) < 0
        {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(device)
}
