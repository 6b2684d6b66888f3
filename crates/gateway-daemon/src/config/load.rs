//! A configuration and its private key, read from files.

use super::File;
use bentpipe_carrier::identity::Identity;
use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What is wrong with a configuration: one message that names the file, and the line where there is one.
#[derive(Debug)]
pub struct ConfigError(pub String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

/// A configuration that was read and checked, with its key.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub path: PathBuf,
    pub file: File,
    pub identity: Identity,
    /// What works, but should be changed.
    pub warnings: Vec<String>,
}

impl Loaded {
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let name = path.display();
        let text = fs::read_to_string(path)
            .map_err(|error| ConfigError(format!("{name}: cannot read it: {}", why(&error))))?;
        let file = File::parse(&text).map_err(|error| ConfigError(format!("{name}{error}")))?;
        let key = path.parent().unwrap_or(Path::new(".")).join(&file.key);
        let (identity, warnings) = match credential(&file.key) {
            // systemd lets nobody else read it, by an access list that its mode does not show.
            Some(given) => (read_key(&given)?.0, Vec::new()),
            None => read_key(&key)?,
        };
        if identity.public() == file.peer.key {
            let wrong =
                "peer.key: this is the gateway's own public key; expected the other gateway's";
            return Err(ConfigError(format!("{name}: {wrong}")));
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            identity,
            warnings,
        })
    }
}

/// The private key as systemd gives it to a service that may not read the file itself: `LoadCredential=`, by the file's name.
fn credential(key: &Path) -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("CREDENTIALS_DIRECTORY")?);
    Some(folder.join(key.file_name()?)).filter(|given| given.exists())
}

impl Loaded {
    /// Where figures are kept. A relative path is in systemd's directory for the state of a service, or else beside the configuration.
    pub fn state_path(&self) -> Option<PathBuf> {
        let state = self.file.status.state.as_ref()?;
        let folder = std::env::var_os("STATE_DIRECTORY").map(PathBuf::from);
        let folder = folder.as_deref().or_else(|| self.path.parent());
        Some(folder.unwrap_or(Path::new(".")).join(state))
    }
}

fn why(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::InvalidData => "it is no text (UTF-8)".to_owned(),
        ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => error.to_string(),
    }
}

/// A private key, and a warning where others may read it.
fn read_key(path: &Path) -> Result<(Identity, Vec<String>), ConfigError> {
    let name = path.display();
    let wrong = |what: String| ConfigError(format!("{name}: {what}"));
    let text = fs::read_to_string(path).map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::NotFound => ". `bentpipe-gateway keys` makes one",
            ErrorKind::PermissionDenied => ". Its owner, or root, may read it",
            _ => "",
        };
        wrong(format!(
            "cannot read the private key: {}{hint}",
            why(&error)
        ))
    })?;
    let identity = Identity::from_pem(&text).map_err(|error| wrong(error.to_string()))?;
    let mode = fs::metadata(path).map_or(0, |about| about.permissions().mode());
    let warnings = (mode & 0o077 != 0).then(|| {
        format!("{name}: other users may read this private key; `chmod 600 {name}` stops that")
    });
    Ok((identity, warnings.into_iter().collect()))
}
