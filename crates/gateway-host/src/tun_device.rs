//! A TUN device (Documentation/networking/tuntap.rst of Linux).
#![expect(unsafe_code, reason = "an ioctl")]

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

/// Makes a device of this name, in the calling thread's network namespace. It goes when the descriptor closes, with its addresses and routes. Each
/// read and write is one IP packet; none blocks. It needs `CAP_NET_ADMIN`. A device of that name that is there is an error.
pub fn tun_device(name: &str) -> io::Result<OwnedFd> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK);
    let device = options.open("/dev/net/tun")?;
    // SAFETY: an ifreq of zeros is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.is_empty() || name.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags =
        (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_TUN_EXCL) as libc::c_short;
    // SAFETY: TUNSETIFF reads the name and the flags of the request, and writes its name.
    let status = unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    if status == 0 {
        Ok(device.into())
    } else {
        Err(io::Error::last_os_error())
    }
}
