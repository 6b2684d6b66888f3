//! Why a machine lets nobody build the hosts, exactly, and the one command that would change it.
//!
//! Sources: `user_namespaces(7)`, `kernel/user_namespace.c` (ENOSPC, EPERM), Debian's and Ubuntu's two extra sysctls,
//! drivers/net/tun.c.

use rustix::io::Errno;
use serde::Serialize;
use std::fs;
use std::io;

/// Why there can be no run, and the one command that would change that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// One word or the setting's name, for programs.
    pub what: String,
    /// A sentence, for people.
    pub message: String,
    pub remedy: Option<String>,
}

/// What was being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    UserNamespace,
    IdMap,
    Namespaces,
    Mounts,
    Proc,
    Network,
}

impl Step {
    fn words(self) -> &'static str {
        match self {
            Self::UserNamespace => "making a user namespace",
            Self::IdMap => "mapping the user into its new user namespace",
            Self::Namespaces => "making a process and a mount namespace",
            Self::Mounts => "making the mounts private",
            Self::Proc => "mounting a fresh /proc",
            Self::Network => "making a network namespace",
        }
    }
}

/// One for each kind of namespace that a run needs.
const LIMITS: [&str; 4] = [
    "user.max_user_namespaces",
    "user.max_mnt_namespaces",
    "user.max_pid_namespaces",
    "user.max_net_namespaces",
];

/// What decides whether a user may have namespaces and TUN devices, as far as it can be read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    /// The first of the limits on namespaces (`user.max_*_namespaces`) that is 0.
    pub limit_of_zero: Option<&'static str>,
    /// Debian's switch.
    pub unprivileged_userns_clone: Option<u64>,
    /// Ubuntu's switch.
    pub apparmor_restrict: Option<u64>,
    pub kernel_has_user_namespaces: bool,
    pub threads: usize,
    pub seccomp_filter: bool,
    /// The driver is there, loaded or built in.
    pub tun_driver: bool,
    /// The module can be loaded; `None` where no list of modules is readable.
    pub tun_module: Option<bool>,
}

impl Machine {
    pub(crate) fn read() -> Self {
        let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse().ok();
        let release = rustix::system::uname()
            .release()
            .to_string_lossy()
            .into_owned();
        let listed = |name: &str| {
            fs::read_to_string(format!("/lib/modules/{release}/{name}"))
                .ok()
                .map(|list| list.contains("/tun.ko"))
        };
        Self {
            limit_of_zero: LIMITS
                .into_iter()
                .find(|limit| number(&format!("/proc/sys/{}", limit.replace('.', "/"))) == Some(0)),
            unprivileged_userns_clone: number("/proc/sys/kernel/unprivileged_userns_clone"),
            apparmor_restrict: number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
            kernel_has_user_namespaces: fs::exists("/proc/self/ns/user").unwrap_or(false),
            threads: fs::read_dir("/proc/self/task").map_or(1, Iterator::count),
            seccomp_filter: fs::read_to_string("/proc/self/status")
                .is_ok_and(|status| status.lines().any(|line| line == "Seccomp:\t2")),
            tun_driver: fs::read_to_string("/proc/misc")
                .is_ok_and(|misc| misc.lines().any(|line| line.trim() == "200 tun")),
            tun_module: match (listed("modules.dep"), listed("modules.builtin")) {
                (None, None) => None,
                (dep, builtin) => Some(dep.unwrap_or(false) || builtin.unwrap_or(false)),
            },
        }
    }
}

fn refused(what: &str, message: String, remedy: Option<&str>) -> Refused {
    Refused {
        what: what.into(),
        message,
        remedy: remedy.map(Into::into),
    }
}

/// Why no namespace could be made.
pub(crate) fn namespaces(step: Step, error: Errno, root: bool, machine: &Machine) -> Refused {
    let doing = step.words();
    if machine.threads > 1 && error == Errno::INVAL {
        return refused(
            "threads",
            format!(
                "{doing} needs a process with one thread, and this one has {}",
                machine.threads
            ),
            None,
        );
    }
    if step == Step::UserNamespace && !machine.kernel_has_user_namespaces {
        return refused(
            "CONFIG_USER_NS",
            "this kernel was built without user namespaces: run as root".into(),
            None,
        );
    }
    if let Some(limit) = machine.limit_of_zero
        && error == Errno::NOSPC
    {
        return refused(
            limit,
            format!("{limit} is 0, and {doing} needs more"),
            Some(&format!("sudo sysctl -w {limit}=15000")),
        );
    }
    if !root && machine.unprivileged_userns_clone == Some(0) {
        return refused(
            "kernel.unprivileged_userns_clone",
            "kernel.unprivileged_userns_clone is 0, so that only root may make a user namespace"
                .into(),
            Some("sudo sysctl -w kernel.unprivileged_userns_clone=1"),
        );
    }
    if !root && machine.apparmor_restrict == Some(1) && step != Step::Proc {
        return refused(
            "kernel.apparmor_restrict_unprivileged_userns",
            format!(
                "kernel.apparmor_restrict_unprivileged_userns is 1, so that an ordinary user's namespace has no \
                 rights: {doing} gave {error}"
            ),
            Some("sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"),
        );
    }
    if error == Errno::NOSPC {
        let limit = match step {
            Step::Network => "user.max_net_namespaces",
            Step::Namespaces => "user.max_pid_namespaces",
            _ => "user.max_user_namespaces",
        };
        return refused(
            limit,
            format!(
                "{doing} found a limit on namespaces reached ({limit} or another of that kind)"
            ),
            Some(&format!("sudo sysctl -w {limit}=15000")),
        );
    }
    if step == Step::Proc {
        return refused(
            "container",
            format!("{doing} gave {error}: parts of /proc are covered here, as in a container"),
            Some("docker run --privileged"),
        );
    }
    let reason = if machine.seccomp_filter {
        "a seccomp filter is in force, as in a container"
    } else {
        "a security module, a chroot or a container forbids it"
    };
    let remedy = machine.seccomp_filter.then_some("docker run --privileged");
    refused(
        "container",
        format!("{doing} gave {error}: {reason}"),
        remedy,
    )
}

/// Why no TUN device could be made.
pub(crate) fn tun(error: Errno, machine: &Machine) -> Refused {
    const DEVICE: &str = "/dev/net/tun";
    if !machine.tun_driver && matches!(error, Errno::NOENT | Errno::NODEV | Errno::NXIO) {
        return if machine.tun_module == Some(false) {
            refused(
                "CONFIG_TUN",
                "this kernel has no TUN driver (CONFIG_TUN), built in or as a module".into(),
                None,
            )
        } else {
            refused(
                "tun",
                "the TUN driver is not loaded".into(),
                Some("sudo modprobe tun"),
            )
        };
    }
    match error {
        Errno::NOENT => refused(
            DEVICE,
            format!("{DEVICE} does not exist, though the kernel has the TUN driver"),
            Some("sudo sh -c 'mkdir -p /dev/net && mknod -m 666 /dev/net/tun c 10 200'"),
        ),
        Errno::ACCESS => refused(
            DEVICE,
            format!("{DEVICE} is not open to this user; udev normally makes it open to all"),
            Some("sudo chmod 666 /dev/net/tun"),
        ),
        Errno::PERM => refused(
            DEVICE,
            format!(
                "{DEVICE} may not be used here ({error}), as in a container without that device"
            ),
            Some("docker run --device /dev/net/tun --cap-add NET_ADMIN --cap-add SYS_ADMIN"),
        ),
        other => refused(DEVICE, format!("making a TUN device gave {other}"), None),
    }
}

/// Why the two network namespaces of a split's end could not be joined.
pub(crate) fn veth(error: &io::Error) -> Refused {
    if error.raw_os_error() == Some(libc::EOPNOTSUPP) {
        return refused(
            "veth",
            "[split] needs the device driver veth, which this kernel does not have loaded".into(),
            Some("sudo modprobe veth"),
        );
    }
    refused(
        "veth",
        format!("making a pair of veth devices gave: {error}"),
        None,
    )
}

/// Why connections cannot be taken from those who opened them.
pub(crate) fn tproxy(error: &io::Error) -> Refused {
    // No nfnetlink, no nf_tables, or no expression of that name.
    let missing = [libc::EPROTONOSUPPORT, libc::EOPNOTSUPP, libc::ENOENT];
    if error
        .raw_os_error()
        .is_some_and(|code| missing.contains(&code))
    {
        return refused(
            "nft_tproxy",
            "[split] and [gateway] need nf_tables with TPROXY (CONFIG_NFT_TPROXY), which this kernel does not have loaded"
                .into(),
            Some("sudo modprobe nft_tproxy"),
        );
    }
    refused(
        "nft_tproxy",
        format!(
            "setting the rules that redirect TCP connections (nf_tables, TPROXY) gave: {error}"
        ),
        None,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sound() -> Machine {
        Machine {
            kernel_has_user_namespaces: true,
            threads: 1,
            tun_driver: true,
            ..Machine::default()
        }
    }

    #[test]
    fn each_switch_that_forbids_namespaces_is_named_with_the_command_that_turns_it() {
        let off = Machine {
            limit_of_zero: Some("user.max_user_namespaces"),
            ..sound()
        };
        let no_net = Machine {
            limit_of_zero: Some("user.max_net_namespaces"),
            ..sound()
        };
        let debian = Machine {
            unprivileged_userns_clone: Some(0),
            ..sound()
        };
        let ubuntu = Machine {
            apparmor_restrict: Some(1),
            ..sound()
        };
        for (step, error, machine, what) in [
            (
                Step::UserNamespace,
                Errno::NOSPC,
                off,
                "user.max_user_namespaces",
            ),
            (
                Step::Network,
                Errno::NOSPC,
                no_net,
                "user.max_net_namespaces",
            ),
            (
                Step::UserNamespace,
                Errno::PERM,
                debian,
                "kernel.unprivileged_userns_clone",
            ),
            (
                Step::IdMap,
                Errno::PERM,
                ubuntu,
                "kernel.apparmor_restrict_unprivileged_userns",
            ),
        ] {
            let said = namespaces(step, error, false, &machine);
            assert_eq!(said.what, what);
            assert!(
                said.remedy
                    .unwrap()
                    .starts_with(&format!("sudo sysctl -w {what}="))
            );
        }
    }

    #[test]
    fn a_switch_for_ordinary_users_is_not_blamed_for_what_root_met() {
        let machine = Machine {
            limit_of_zero: Some("user.max_user_namespaces"),
            unprivileged_userns_clone: Some(0),
            seccomp_filter: true,
            ..sound()
        };
        let said = namespaces(Step::Namespaces, Errno::PERM, true, &machine);
        assert_eq!(said.what, "container");
        assert!(said.message.contains("seccomp"), "{}", said.message);
    }

    #[test]
    fn a_second_thread_is_said_to_be_in_the_way() {
        let machine = Machine {
            threads: 3,
            ..sound()
        };
        assert_eq!(
            namespaces(Step::UserNamespace, Errno::INVAL, false, &machine).what,
            "threads"
        );
    }

    #[test]
    fn each_way_to_be_without_a_tun_device_has_its_own_remedy() {
        let unloaded = Machine {
            tun_driver: false,
            tun_module: Some(true),
            ..sound()
        };
        let unlisted = Machine {
            tun_driver: false,
            tun_module: None,
            ..sound()
        };
        let none = Machine {
            tun_driver: false,
            tun_module: Some(false),
            ..sound()
        };
        for (error, machine, remedy) in [
            (Errno::NOENT, &unloaded, Some("modprobe tun")),
            (Errno::NODEV, &unlisted, Some("modprobe tun")),
            (Errno::NOENT, &none, None),
            (Errno::NOENT, &sound(), Some("mknod -m 666 /dev/net/tun")),
            (Errno::ACCESS, &sound(), Some("chmod 666 /dev/net/tun")),
            (Errno::PERM, &sound(), Some("--device /dev/net/tun")),
        ] {
            let said = tun(error, machine);
            match remedy {
                None => assert_eq!(said.remedy, None),
                Some(part) => assert!(said.remedy.as_ref().unwrap().contains(part), "{said:?}"),
            }
        }
    }
}
