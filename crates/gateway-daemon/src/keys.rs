//! `bentpipe-gateway keys`.

use bentpipe_carrier::identity::Identity;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Writes a new private key for its owner alone, or keeps the one that is there; prints the public key.
pub fn run(path: &Path) -> Result<(), String> {
    let name = path.display();
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let identity = match options.open(path) {
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
            eprintln!("{name}: wrote a new private key. Its public key is for the other gateway:");
            identity
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let text = fs::read_to_string(path)
                .map_err(|error| format!("{name}: cannot read it: {error}"))?;
            let identity = Identity::from_pem(&text).map_err(|error| format!("{name}: {error}"))?;
            eprintln!(
                "{name}: kept the private key that is there. Its public key is for the other gateway:"
            );
            identity
        }
        Err(error) => return Err(format!("{name}: cannot make it: {error}")),
    };
    println!("{}", identity.public());
    Ok(())
}
