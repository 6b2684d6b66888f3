//! A host's end of a link: a TUN device whose packets carry a virtio-net header, so that super-packets cross
//! unsegmented (drivers/net/tun.c, Documentation/networking/tuntap.rst).

use crate::protocol::Offload;
use crate::signals::last_errno;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, Result};
use std::os::fd::{AsRawFd, OwnedFd};

/// struct `virtio_net_hdr`, without the count of merged buffers.
pub(crate) const VNET_HEADER_BYTES: usize = 10;

const TUN_F_CSUM: libc::c_uint = 0x01;
const TUN_F_TSO4: libc::c_uint = 0x02;
const TUN_F_TSO6: libc::c_uint = 0x04;
const TUN_F_TSO_ECN: libc::c_uint = 0x08;
/// Kernel 6.2 and later.
const TUN_F_USO4: libc::c_uint = 0x20;
const TUN_F_USO6: libc::c_uint = 0x40;

/// Makes a device in the calling thread's network namespace. It goes when the descriptor closes.
pub(crate) fn make(name: &str) -> Result<(OwnedFd, Offload)> {
    let device = open(
        "/dev/net/tun",
        OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK,
        Mode::empty(),
    )?;
    // SAFETY: an ifreq of zeros is a valid value; TUNSETIFF reads its name and flags and writes its name.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags =
            (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
        checked(libc::ioctl(
            device.as_raw_fd(),
            libc::TUNSETIFF,
            &raw mut request,
        ))?;
        let header = VNET_HEADER_BYTES as libc::c_int;
        checked(libc::ioctl(
            device.as_raw_fd(),
            libc::TUNSETVNETHDRSZ,
            &raw const header,
        ))?;
    }
    let offload = offload(&device)?;
    Ok((device, offload))
}

fn offload(device: &OwnedFd) -> Result<Offload> {
    let tso = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN;
    let set = |features: libc::c_uint| {
        // SAFETY: TUNSETOFFLOAD takes its argument by value.
        checked(unsafe {
            libc::ioctl(
                device.as_raw_fd(),
                libc::TUNSETOFFLOAD,
                libc::c_ulong::from(features),
            )
        })
    };
    match set(tso | TUN_F_USO4 | TUN_F_USO6) {
        Ok(()) => Ok(Offload {
            tso: true,
            uso: true,
        }),
        Err(Errno::INVAL) => set(tso).map(|()| Offload {
            tso: true,
            uso: false,
        }),
        Err(error) => Err(error),
    }
}

fn checked(result: libc::c_int) -> Result<()> {
    if result == -1 {
        Err(last_errno())
    } else {
        Ok(())
    }
}
