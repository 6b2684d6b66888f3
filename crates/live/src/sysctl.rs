//! Kernel settings of the calling thread's network namespace, through /proc/sys (`proc_sys_net(5)`).
//!
//! What is global (`net.core.rmem_max` before it was namespaced, anything outside `net`) is never written.

use crate::refusal::Refused;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

/// Sets one, as `sysctl -w` does; `name` has dots or slashes. `root` says whether the namespace is the machine's
/// root's own: to others the kernel shows fewer.
pub(crate) fn set(name: &str, value: &str, root: bool) -> Result<(), Refused> {
    let refused = |message: String| Refused {
        what: name.into(),
        message,
        remedy: None,
    };
    let Some(path) = path_of(name) else {
        return Err(refused(format!(
            "{name} is not a setting of a network namespace: only net.* can be set for one host"
        )));
    };
    fs::write(path, value).map_err(|error| {
        refused(match error.kind() {
            ErrorKind::NotFound => {
                let or_hidden = if root {
                    ""
                } else {
                    ", or shows it to root only"
                };
                format!("this kernel has no sysctl {name} in a network namespace{or_hidden}")
            }
            ErrorKind::InvalidInput => {
                format!("the kernel does not take {value:?} for the sysctl {name}")
            }
            _ => format!("setting the sysctl {name} to {value:?} gave: {error}"),
        })
    })
}

/// Sets one of ours where the kernel has it.
pub(crate) fn set_if_there(name: &str, value: &str) -> io::Result<()> {
    match path_of(name) {
        Some(path) if fs::exists(&path)? => fs::write(path, value),
        _ => Ok(()),
    }
}

/// Every net.ipv4.tcp_* and net.core.{r,w}mem_* that can be read here.
pub(crate) fn in_force() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (folder, prefixes) in [("ipv4", &["tcp_"][..]), ("core", &["rmem_", "wmem_"][..])] {
        let Ok(entries) = fs::read_dir(format!("/proc/sys/net/{folder}")) else {
            continue;
        };
        for entry in entries.flatten() {
            let file = entry.file_name().to_string_lossy().into_owned();
            if prefixes.iter().any(|prefix| file.starts_with(prefix))
                && let Ok(value) = fs::read_to_string(entry.path())
            {
                let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
                found.insert(format!("net.{folder}.{file}"), value);
            }
        }
    }
    found
}

fn path_of(name: &str) -> Option<PathBuf> {
    // As sysctl(8): the first separator found is the separator, the other stands for itself.
    let separator = name
        .find(['.', '/'])
        .map(|at| name.as_bytes()[at] as char)?;
    let other = if separator == '.' { '/' } else { '.' };
    let parts: Vec<String> = name
        .split(separator)
        .map(|part| {
            if separator == '.' {
                part.replace(other, ".")
            } else {
                part.to_owned()
            }
        })
        .collect();
    let sound = |part: &String| {
        !part.is_empty() && part != "." && part != ".." && !part.contains(['/', '\0'])
    };
    if parts.len() < 2 || parts[0] != "net" || !parts.iter().all(sound) {
        return None;
    }
    Some(PathBuf::from("/proc/sys").join(parts.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_path_under_net_and_never_leaves_it() {
        for (name, path) in [
            ("net.ipv4.tcp_sack", Some("/proc/sys/net/ipv4/tcp_sack")),
            ("net/ipv4/tcp_sack", Some("/proc/sys/net/ipv4/tcp_sack")),
            (
                "net.ipv4.conf.eth0/1.mtu",
                Some("/proc/sys/net/ipv4/conf/eth0.1/mtu"),
            ),
            (
                "net/ipv4/conf/eth0.1/mtu",
                Some("/proc/sys/net/ipv4/conf/eth0.1/mtu"),
            ),
            ("kernel.panic", None),
            ("net/../kernel/panic", None),
            ("net.//.kernel.panic", None),
            ("net", None),
            ("net..ipv4", None),
            ("", None),
        ] {
            assert_eq!(path_of(name), path.map(PathBuf::from), "{name}");
        }
    }

    #[test]
    fn what_is_not_of_a_namespace_is_refused_by_name() {
        for name in ["kernel.panic", "net.ipv4.no_such_setting"] {
            let refused = set(name, "1", true).unwrap_err();
            assert_eq!(refused.what, name);
            assert!(refused.message.contains(name), "{}", refused.message);
        }
    }
}
