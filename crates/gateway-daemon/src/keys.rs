//! `bentpipe-gateway keys`.

use bentpipe_carrier::identity::Identity;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Writes a new private key for its owner alone, or keeps the one that is there; prints the public key.
pub fn run(path: &Path) -> Result<(), String> {
    let name = path.display();
    let (identity, is_new) = make_or_keep(path)?;
    let done = if is_new {
        "wrote a new private key"
    } else {
        "kept the private key that is there"
    };
    eprintln!("{name}: {done}. Its public key is for the other gateway:");
    println!("{}", identity.public());
    Ok(())
}

/// A key that was just made, and is removed again if nobody gets to know it.
#[derive(Debug)]
pub struct Unused(Option<PathBuf>);

impl Unused {
    pub fn new(path: &Path, is_new: bool) -> Self {
        Self(is_new.then(|| path.to_owned()))
    }

    /// The other gateway may know it now: it stays.
    pub fn forget(mut self) {
        self.0 = None;
    }
}

impl Drop for Unused {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // One that stays is kept the next time.
            let _ = fs::remove_file(path);
        }
    }
}

/// A new key pair in a file for its owner alone, or the one that is there; whether it is new.
pub fn make_or_keep(path: &Path) -> Result<(Identity, bool), String> {
    let name = path.display();
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    match options.open(path) {
        Ok(mut file) => {
            let identity = Identity::generate();
            let written = file
                .write_all(identity.to_pem().as_bytes())
                .and_then(|()| file.sync_all());
            if let Err(error) = written {
                // Half a key is none.
                let _ = fs::remove_file(path);
                return Err(format!("{name}: cannot write it: {error}"));
            }
            Ok((identity, true))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let text = fs::read_to_string(path)
                .map_err(|error| format!("{name}: cannot read it: {error}"))?;
            let identity = Identity::from_pem(&text).map_err(|error| format!("{name}: {error}"))?;
            Ok((identity, false))
        }
        Err(error) => Err(format!("{name}: cannot make it: {error}")),
    }
}
