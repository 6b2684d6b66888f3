//! The figures that are kept across restarts: a small file of JSON, written beside its place and moved there, so that it is whole or the old one.

use crate::status::{Totals, UserTotals};
use bentpipe_gateway_host::{MOST_USERS, Report, UserFigures, Users};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use tracing::{info, warn};

const VERSION: u32 = 1;
/// Each user has some hundred bytes.
const LONGEST: u64 = 1 << 20;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Kept {
    version: u32,
    totals: Totals,
    /// Those who were active last come first.
    users: Vec<UserTotals>,
    other_users: u64,
    others: UserFigures,
}

/// What was read at the start, and where it is written.
#[derive(Clone, Debug)]
pub struct State {
    path: PathBuf,
    pub before: Totals,
}

impl State {
    /// Reads what an earlier gateway wrote. A file that is none of ours is put aside under the name FILE.damaged, and counting begins anew.
    pub fn open(path: PathBuf) -> (Self, Users) {
        let name = path.display();
        let kept = match read(&path) {
            Ok(kept) => kept,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                info!(state = %name, "no figures from before: counting begins");
                Kept::default()
            }
            Err(error) => {
                let aside = beside(&path, "damaged");
                // Where that fails, the file is written over.
                let _ = fs::rename(&path, &aside);
                warn!(%error, "status.state {name}: its figures cannot be read; counting begins anew, and the file is kept as {}", aside.display());
                Kept::default()
            }
        };
        let users = kept.users.iter().rev();
        let users = users.map(|it| (it.user, it.counts));
        let users = Users::known(users, (kept.other_users, kept.others));
        let before = kept.totals;
        (Self { path, before }, users)
    }

    /// Writes what is known now. `of` has its users.
    pub fn save(&self, of: &Report) -> io::Result<()> {
        let (other_users, others) = of.users.others();
        let kept = Kept {
            version: VERSION,
            totals: self.before.with(of),
            users: UserTotals::all(&of.users),
            other_users,
            others,
        };
        let new = beside(&self.path, "new");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(&new)?;
        file.write_all(&serde_json::to_vec(&kept)?)?;
        file.sync_all()?;
        fs::rename(&new, &self.path)
    }

    /// As [`Self::save`]; what is wrong is logged.
    pub fn save_or_warn(&self, of: &Report) {
        if let Err(error) = self.save(of) {
            warn!(%error, "status.state {}: the figures could not be written", self.path.display());
        }
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

fn read(path: &Path) -> io::Result<Kept> {
    let mut text = String::new();
    File::open(path)?.take(LONGEST).read_to_string(&mut text)?;
    let wrong = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let kept: Kept = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if kept.version != VERSION || kept.users.len() > MOST_USERS {
        let found = (kept.version, kept.users.len());
        return Err(wrong(format!(
            "it has version {} and {} users, expected version {VERSION} and {MOST_USERS} users at most",
            found.0, found.1
        )));
    }
    let counts = kept.users.iter().map(|it| &it.counts).chain([&kept.others]);
    let plausible = counts.map(UserFigures::are_plausible);
    if !kept.totals.are_plausible() || !plausible.into_iter().all(|it| it) {
        return Err(wrong("it has a figure that cannot be".into()));
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_another_version_are_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("figures.json");
        // An earlier one that counted less, and a later one that counts more.
        for totals in [
            r#"{"starts": 3, "sent_bytes": 9}"#,
            r#"{"starts": 3, "sent_bytes": 9, "up_s": 1.5, "something_new": 4}"#,
        ] {
            let text = format!(
                r#"{{"version": 1, "totals": {totals}, "users": [{{"user": "192.0.2.1", "connections": 2}}], "other_users": 0, "others": {{}}, "more": 1}}"#
            );
            fs::write(&path, text).unwrap();
            let (state, users) = State::open(path.clone());
            assert_eq!(
                (state.before.starts, state.before.counts.sent_bytes),
                (3, 9)
            );
            assert_eq!(UserTotals::all(&users)[0].counts.connections, 2);
        }
        assert!(!beside(&path, "damaged").exists());
    }
}
