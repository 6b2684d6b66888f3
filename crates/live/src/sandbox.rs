//! What a command of a lab may reach: it reads the machine's files and changes nothing.
//!
//! Its mounts are its own: everything read-only and without devices, with empty folders over the home folders, /tmp, /var/tmp
//! and /run, a /dev of a few harmless devices, and a /proc that shows its own processes. It is in a process and an IPC
//! namespace of its own, keeps two capabilities, and gains none by executing a file. Some system calls are refused.
//!
//! Three processes: the one that was asked for waits, so that it can be signalled and reaped as any other program; its child
//! is the first of the new process namespace, makes the mounts, and takes orphans; the child of that one is the command.
//! Between fork and exec there are system calls alone, and no allocation: what they need is made before.

use crate::refused_calls::RefusedCalls;
use crate::signals;
use rustix::io::Result;
use std::collections::BTreeMap;
use std::env;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};

/// Folders that it sees empty and may write to, beside the user's home folder.
const EMPTY: [&str; 4] = ["/home", "/tmp", "/var/tmp", "/run"];
const DEVICES: [&CStr; 6] = [
    c"/dev/null",
    c"/dev/zero",
    c"/dev/full",
    c"/dev/random",
    c"/dev/urandom",
    c"/dev/tty",
];
const LINKS: [(&CStr, &CStr); 4] = [
    (c"/proc/self/fd", c"/dev/fd"),
    (c"/proc/self/fd/0", c"/dev/stdin"),
    (c"/proc/self/fd/1", c"/dev/stdout"),
    (c"/proc/self/fd/2", c"/dev/stderr"),
];
/// Variables that it is given, beside those that begin with `LC_`.
const ENVIRONMENT: [&str; 6] = ["PATH", "LANG", "TZ", "USER", "LOGNAME", "HOME"];

const CAP_NET_BIND_SERVICE: libc::c_ulong = 10;
const CAP_NET_RAW: libc::c_ulong = 13;
const KEPT: u32 = 1 << CAP_NET_BIND_SERVICE | 1 << CAP_NET_RAW;
const CAPABILITY_VERSION_3: u32 = 0x2008_0522;

const OPEN_TREE_CLONE: libc::c_uint = 1;
const OPEN_TREE_CLOEXEC: libc::c_uint = libc::O_CLOEXEC as libc::c_uint;
const MOVE_MOUNT_F_EMPTY_PATH: libc::c_uint = 4;
const MOUNT_ATTR_RDONLY: u64 = 1;
const MOUNT_ATTR_NOSUID: u64 = 2;
const MOUNT_ATTR_NODEV: u64 = 4;

/// How far it came, for who is told of an error.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Step {
    Namespaces,
    Processes,
    ReadOnly,
    Empty,
    Devices,
    Folder,
    Proc,
    Capabilities,
    Calls,
}

impl Step {
    const WORDS: [&str; 9] = [
        "making its namespaces",
        "making its processes",
        "making the machine's files read-only",
        "making its empty folders",
        "making its /dev",
        "showing its working folder",
        "making its /proc",
        "dropping capabilities",
        "refusing system calls",
    ];
}

/// An empty folder to be made.
#[derive(Debug)]
struct Empty {
    path: CString,
    /// Nothing there: it is to be made, in another empty folder.
    missing: Vec<CString>,
    /// It is there: it is covered.
    covered: bool,
}

#[derive(Debug)]
pub(crate) struct Sandbox {
    before: Vec<Empty>,
    /// The working folder, where an empty one hides it, and the folders to be made for it.
    shown: Option<(CString, Vec<CString>)>,
    /// Empty folders within the working folder.
    after: Vec<Empty>,
    cwd: CString,
    calls: RefusedCalls,
    /// The step that failed goes through here.
    said: (OwnedFd, OwnedFd),
}

impl Sandbox {
    /// For a command that is started in `cwd`, an absolute path.
    pub(crate) fn new(cwd: &Path) -> io::Result<Self> {
        // One that the user may not enter does not count.
        let cwd = cwd.canonicalize().unwrap_or_else(|_| "/".into());
        // Without the variable, that of the user's entry in passwd(5).
        let home = env::home_dir();
        let mut empty: Vec<PathBuf> = EMPTY.iter().map(PathBuf::from).collect();
        empty.extend(home.filter(|home| home.is_absolute()));
        if rustix::process::geteuid().is_root() {
            empty.push("/root".into());
        }
        let mut empty: Vec<PathBuf> = empty
            .iter()
            .filter_map(|folder| folder.canonicalize().ok())
            .filter(|folder| folder.is_dir() && folder.parent().is_some())
            .collect();
        empty.sort();
        empty.dedup();
        let hides = |folder: &Path| empty.iter().any(|each| folder.starts_with(each));
        let is_one = empty.contains(&cwd);
        let shown = hides(&cwd) && !is_one;
        let within = |folder: &&PathBuf| shown && folder.starts_with(&cwd);
        let one = |folder: &PathBuf| -> io::Result<Empty> {
            let outer = empty
                .iter()
                .filter(|other| *other != folder && folder.starts_with(other))
                .max_by_key(|other| other.as_os_str().len());
            let inside_shown = within(&folder);
            Ok(Empty {
                path: text(folder)?,
                missing: match outer {
                    Some(outer) if !inside_shown => between(outer, folder)?,
                    _ => Vec::new(),
                },
                covered: outer.is_none() || inside_shown,
            })
        };
        let outer = empty.iter().rfind(|each| cwd.starts_with(each));
        Ok(Self {
            before: empty
                .iter()
                .filter(|each| !within(each))
                .map(one)
                .collect::<io::Result<_>>()?,
            shown: match outer {
                Some(outer) if shown => Some((text(&cwd)?, between(outer, &cwd)?)),
                _ => None,
            },
            after: empty
                .iter()
                .filter(within)
                .map(one)
                .collect::<io::Result<_>>()?,
            cwd: text(&cwd)?,
            calls: RefusedCalls::new()?,
            said: pipe(libc::O_CLOEXEC | libc::O_NONBLOCK)?,
        })
    }

    /// Of the variables that the host process has, those that a command is given.
    pub(crate) fn environment() -> BTreeMap<String, String> {
        env::vars()
            .filter(|(name, _)| ENVIRONMENT.contains(&name.as_str()) || name.starts_with("LC_"))
            .collect()
    }

    /// What went wrong before the command was executed, in words; `None`: that could not be executed.
    pub(crate) fn failed_at(&self) -> Option<&'static str> {
        let mut step = [0_u8];
        match rustix::io::read(&self.said.0, &mut step) {
            Ok(1) => Step::WORDS.get(usize::from(step[0])).copied(),
            _ => None,
        }
    }

    /// Between fork and exec: returns in the process that is to execute the command.
    pub(crate) fn enter(&self) -> io::Result<()> {
        let said = self.said.1.as_raw_fd();
        let at = |step: Step| {
            move |error: rustix::io::Errno| {
                // SAFETY: one byte of the stack is read.
                unsafe { libc::write(said, (&raw const step).cast(), 1) };
                io::Error::from(error)
            }
        };
        let namespaces = libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC;
        block_all();
        // SAFETY: system calls on integers; the process has one thread, as after any fork.
        unsafe {
            check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
                .map_err(at(Step::Namespaces))?;
            check(libc::unshare(namespaces)).map_err(at(Step::Namespaces))?;
        }
        let mut ends: [RawFd; 2] = [-1; 2];
        // SAFETY: the kernel writes two descriptors.
        check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })
            .map_err(at(Step::Processes))?;
        if fork().map_err(at(Step::Processes))? > 0 {
            end_as_told(ends[0]);
        }
        self.mounts(at)?;
        let command = fork().map_err(at(Step::Processes))?;
        if command > 0 {
            take_orphans(command, ends[1]);
        }
        drop_capabilities().map_err(at(Step::Capabilities))?;
        self.calls.refuse().map_err(at(Step::Calls))?;
        signals::restore_defaults();
        Ok(())
    }

    fn mounts<E: Fn(rustix::io::Errno) -> io::Error>(
        &self,
        at: impl Fn(Step) -> E,
    ) -> io::Result<()> {
        let flags = libc::MS_REC | libc::MS_PRIVATE;
        mount(None, c"/", None, flags, None).map_err(at(Step::ReadOnly))?;
        let mut devices = [-1; DEVICES.len()];
        for (device, path) in devices.iter_mut().zip(DEVICES) {
            *device = clone_tree(path, 0).unwrap_or(-1);
        }
        let shown = match &self.shown {
            Some((path, _)) => {
                let tree = clone_tree(path, libc::AT_RECURSIVE).map_err(at(Step::Folder))?;
                let flags = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
                protect(tree, c"", flags).map_err(at(Step::Folder))?;
                tree
            }
            None => -1,
        };
        protect(libc::AT_FDCWD, c"/", libc::AT_RECURSIVE).map_err(at(Step::ReadOnly))?;
        for each in &self.before {
            each.make().map_err(at(Step::Empty))?;
        }
        if let Some((path, missing)) = &self.shown {
            make_folders(missing).map_err(at(Step::Folder))?;
            move_mount(shown, path).map_err(at(Step::Folder))?;
        }
        for each in &self.after {
            each.make().map_err(at(Step::Empty))?;
        }
        make_dev(devices).map_err(at(Step::Devices))?;
        let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC | libc::MS_RDONLY;
        mount(Some(c"proc"), c"/proc", Some(c"proc"), flags, None).map_err(at(Step::Proc))?;
        // SAFETY: a path that ends with a zero byte.
        check(unsafe { libc::chdir(self.cwd.as_ptr()) }).map_err(at(Step::Folder))
    }
}

impl Empty {
    fn make(&self) -> Result<()> {
        make_folders(&self.missing)?;
        if self.covered {
            let flags = libc::MS_NOSUID | libc::MS_NODEV;
            let options = Some(c"mode=1777");
            mount(Some(c"tmpfs"), &self.path, Some(c"tmpfs"), flags, options)?;
        }
        Ok(())
    }
}

/// The folders below `outer` down to `inner`.
fn between(outer: &Path, inner: &Path) -> io::Result<Vec<CString>> {
    let mut found: Vec<_> = inner
        .ancestors()
        .take_while(|each| *each != outer)
        .map(text)
        .collect::<io::Result<_>>()?;
    found.reverse();
    Ok(found)
}

fn text(path: impl AsRef<Path>) -> io::Result<CString> {
    Ok(CString::new(path.as_ref().as_os_str().as_bytes())?)
}

fn pipe(flags: libc::c_int) -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends: [RawFd; 2] = [-1; 2];
    // SAFETY: the kernel writes two descriptors, which nobody else owns.
    unsafe {
        check(libc::pipe2(ends.as_mut_ptr(), flags))?;
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

fn check<T: Into<i64>>(status: T) -> Result<()> {
    if status.into() == -1 {
        return Err(signals::last_errno());
    }
    Ok(())
}

/// Without what a C library does around it, which is not for a process that was forked from one with threads.
fn fork() -> Result<libc::pid_t> {
    // SAFETY: as fork(2): no flag but the signal at its end, and the caller's stack.
    let child = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
    check(child)?;
    Ok(child as libc::pid_t)
}

/// Nothing that is meant for the command ends who waits for it.
fn block_all() {
    // SAFETY: `all` is written before it is read.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, null_mut());
    }
}

/// Keeps one descriptor, as number 0.
fn keep_only(descriptor: RawFd) {
    // SAFETY: descriptors are integers; whoever had the others executes nothing that uses them.
    unsafe {
        libc::dup2(descriptor, 0);
        libc::syscall(libc::SYS_close_range, 1, libc::c_uint::MAX, 0);
    }
}

/// Waits for the command's end, and ends as it did.
fn end_as_told(status: RawFd) -> ! {
    keep_only(status);
    let mut told: libc::c_int = libc::SIGKILL;
    // SAFETY: at most the integer's bytes are written; then the process ends.
    unsafe {
        let wanted = size_of::<libc::c_int>();
        while libc::read(0, (&raw mut told).cast(), wanted) == -1
            && *libc::__errno_location() == libc::EINTR
        {}
        if libc::WIFSIGNALED(told) {
            let signal = libc::WTERMSIG(told);
            let none = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            };
            libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
            libc::signal(signal, libc::SIG_DFL);
            libc::kill(libc::getpid(), signal);
            signals::restore_defaults();
        }
        libc::_exit(libc::WEXITSTATUS(told))
    }
}

/// The first process of the namespace: tells how the command ended, and stays for what that left behind.
fn take_orphans(command: libc::pid_t, status: RawFd) -> ! {
    keep_only(status);
    loop {
        let mut ended: libc::c_int = 0;
        // SAFETY: the kernel writes the status; then it is read from there.
        unsafe {
            let child = libc::waitpid(-1, &raw mut ended, 0);
            if child == command {
                libc::write(0, (&raw const ended).cast(), size_of::<libc::c_int>());
                libc::close(0);
            } else if child == -1 && *libc::__errno_location() != libc::EINTR {
                libc::_exit(0);
            }
        }
    }
}

fn mount(
    source: Option<&CStr>,
    target: &CStr,
    kind: Option<&CStr>,
    flags: libc::c_ulong,
    options: Option<&CStr>,
) -> Result<()> {
    let pointer = |text: Option<&CStr>| text.map_or(null(), CStr::as_ptr);
    // SAFETY: every text ends with a zero byte or is absent.
    check(unsafe {
        libc::mount(
            pointer(source),
            target.as_ptr(),
            pointer(kind),
            flags,
            pointer(options).cast(),
        )
    })
}

/// A mount of its own of what is there, that lies nowhere yet.
fn clone_tree(path: &CStr, flags: libc::c_int) -> Result<RawFd> {
    let flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags as libc::c_uint;
    // SAFETY: a path that ends with a zero byte.
    let tree = unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags) };
    check(tree)?;
    Ok(tree as RawFd)
}

/// Read-only, without devices, and without programs that give their owner's rights.
fn protect(folder: RawFd, path: &CStr, flags: libc::c_int) -> Result<()> {
    // struct mount_attr: set, clear, propagation, user namespace.
    let attributes = [
        MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
        0,
        0,
        0,
    ];
    // SAFETY: the kernel reads the path and the attributes, whose size it is told.
    check(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            folder,
            path.as_ptr(),
            flags,
            attributes.as_ptr(),
            size_of_val(&attributes),
        )
    })
}

fn move_mount(tree: RawFd, to: &CStr) -> Result<()> {
    // SAFETY: two texts that end with a zero byte.
    check(unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            tree,
            c"".as_ptr(),
            libc::AT_FDCWD,
            to.as_ptr(),
            MOVE_MOUNT_F_EMPTY_PATH,
        )
    })
}

fn make_folders(paths: &[CString]) -> Result<()> {
    paths.iter().try_for_each(|path| {
        // SAFETY: a path that ends with a zero byte.
        check(unsafe { libc::mkdir(path.as_ptr(), 0o755) })
    })
}

fn make_dev(devices: [RawFd; DEVICES.len()]) -> Result<()> {
    let flags = libc::MS_NOSUID | libc::MS_NOEXEC;
    let options = Some(c"mode=755,size=64m");
    mount(Some(c"tmpfs"), c"/dev", Some(c"tmpfs"), flags, options)?;
    for (device, path) in devices.into_iter().zip(DEVICES) {
        if device == -1 {
            continue;
        }
        // SAFETY: paths that end with a zero byte.
        unsafe {
            let file = libc::open(path.as_ptr(), libc::O_CREAT | libc::O_CLOEXEC, 0o666);
            check(file)?;
            libc::close(file);
        }
        move_mount(device, path)?;
    }
    for (target, path) in LINKS {
        // SAFETY: as above.
        check(unsafe { libc::symlink(target.as_ptr(), path.as_ptr()) })?;
    }
    // SAFETY: as above.
    unsafe {
        check(libc::mkdir(c"/dev/shm".as_ptr(), 0o777))?;
        check(libc::chmod(c"/dev/shm".as_ptr(), 0o1777))
    }
}

/// All but those of ping and of a server's port below 1024, now and for whatever is executed.
fn drop_capabilities() -> Result<()> {
    // SAFETY: integers, and a header and sets as capset(2) has them.
    unsafe {
        for capability in 0..64 {
            let kept = capability < 32 && KEPT & 1 << capability != 0;
            if !kept && libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) == -1 {
                break;
            }
        }
        let clear = libc::PR_CAP_AMBIENT_CLEAR_ALL;
        check(libc::prctl(libc::PR_CAP_AMBIENT, clear, 0, 0, 0))?;
        let header = [CAPABILITY_VERSION_3, 0];
        // Effective, permitted, inheritable: of the lower 32, then of the others.
        let sets = [KEPT, KEPT, 0, 0, 0, 0];
        check(libc::syscall(
            libc::SYS_capset,
            header.as_ptr(),
            sets.as_ptr(),
        ))?;
        // The control descriptor closes by itself; so does whatever the host process was handed.
        check(libc::syscall(
            libc::SYS_close_range,
            3,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        ))
    }
}
