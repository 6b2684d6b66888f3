//! `bentpipe-gateway`: the daemon at each end of a slow path.
use bentpipe_gateway_daemon::config::{Loaded, Role};
use bentpipe_gateway_daemon::{check, keys, pair, run, status};
use clap::{Parser, Subcommand};
use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tracing_subscriber::EnvFilter;

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const CONFIG: &str = "/etc/bentpipe/gateway.toml";
const SOCKET: &str = "/run/bentpipe-gateway/status.sock";

/// Makes a slow path fast: one gateway on each side of it, near the users and far from them.
#[derive(Debug, Parser)]
#[command(name = "bentpipe-gateway", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the gateway beside the users: it takes their connections
    Near {
        /// The configuration file
        #[arg(long, default_value = CONFIG, value_name = "FILE")]
        config: PathBuf,
    },
    /// Run the gateway beside the Internet: it opens the connections
    Far {
        /// The configuration file
        #[arg(long, default_value = CONFIG, value_name = "FILE")]
        config: PathBuf,
    },
    /// Make a private key, or keep the one that is there, and print its public key
    Keys {
        /// The file of the private key
        #[arg(default_value = "/etc/bentpipe/gateway.key", value_name = "FILE")]
        file: PathBuf,
    },
    /// Introduce two gateways to each other: far invites, near takes the invitation
    ///
    /// At far: `bentpipe-gateway pair --invite far.example.net:4433`. It makes far's key, prints one word, and waits. At near, within the time:
    /// `bentpipe-gateway pair WORD`. It makes near's key and tells far its public one. Both write their configurations. The word works once;
    /// whoever has it first becomes near. Far's TCP port has to be open for it, as for the fallback to TLS later.
    Pair {
        /// At near: the word that far printed
        #[arg(required_unless_present = "invite", conflicts_with = "invite")]
        invitation: Option<String>,
        /// At far: print an invitation. Near will find far at this name or address and port
        #[arg(long, value_name = "HOST:PORT")]
        invite: Option<String>,
        /// At far: where to listen, for near and later for the session [default: all addresses, the port of --invite]
        #[arg(long, value_name = "ADDRESS", requires = "invite")]
        listen: Option<SocketAddr>,
        /// At far: how long the invitation is valid
        #[arg(long, default_value = "15", value_name = "MINUTES", requires = "invite", value_parser = minutes)]
        minutes: Duration,
        /// At near: where programs find SOCKS5
        #[arg(
            long,
            default_value = "127.0.0.1:1080",
            value_name = "ADDRESS",
            conflicts_with = "invite"
        )]
        socks5: SocketAddr,
        /// How fast this gateway sends: "16 Mbit/s", or "fair" where the rate is not known
        #[arg(long, default_value = "fair")]
        rate: String,
        /// The configuration to write. The key is beside it: gateway.key for gateway.toml
        #[arg(long, default_value = CONFIG, value_name = "FILE")]
        config: PathBuf,
    },
    /// Say what is wrong with a configuration, this machine, or the path
    ///
    /// It looks at the file, the key, memory, clock, privileges and programs, and whether this machine has the addresses, ports, interfaces and
    /// folders that the configuration names.
    ///
    /// At near, while near does not run and far does, it measures the path: round trip, the longest UDP payload, loss and rate both ways, never above
    /// path.rate. It says before how many bytes that takes. A near that runs is asked for its figures instead, and not disturbed. Status 1:
    /// something is wrong; 2: the configuration is.
    Check {
        /// The configuration file
        #[arg(long, default_value = CONFIG, value_name = "FILE")]
        config: PathBuf,
        /// A far that does not answer is an error. Without it, it is a warning
        #[arg(long)]
        path: bool,
        /// Send nothing to far
        #[arg(long, conflicts_with = "path")]
        offline: bool,
        /// Measure with this rate, if path.rate allows it [default: path.rate, or 2 Mbit/s where that is "fair"]
        #[arg(long, value_parser = check::rate)]
        rate: Option<u64>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Say how the gateway that runs here stands
    Status {
        /// The socket that status.socket in its configuration names
        #[arg(long, default_value = SOCKET, value_name = "FILE")]
        socket: PathBuf,
        /// Print JSON, with up to 256 users and the 200 flows that moved last
        #[arg(long)]
        json: bool,
        /// Print it again and again, until it is stopped, with what each user moves meanwhile; so many seconds between two [2 if none are given]
        #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2",
              value_parser = clap::value_parser!(u32).range(1..=3600))]
        watch: Option<u32>,
    },
}

fn minutes(text: &str) -> Result<Duration, String> {
    let minutes = text.parse::<f64>().ok();
    let minutes = minutes.filter(|it| (0.01..=1440.0).contains(it));
    let minutes = minutes.ok_or("expected minutes, from 0.01 to 1440")?;
    Ok(Duration::from_secs_f64(60.0 * minutes))
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Near { config } => daemon(&config, Role::Near),
        Command::Far { config } => daemon(&config, Role::Far),
        Command::Keys { file } => keys::run(&file).map_err(|error| (error, 2)),
        Command::Pair {
            invitation,
            invite,
            listen,
            minutes,
            socks5,
            rate,
            config,
        } => {
            let place = pair::Place { config, rate };
            let done = match (invite, invitation) {
                (Some(address), _) => pair::invite(place, &address, listen, minutes),
                (None, Some(invitation)) => pair::accept(&place, &invitation, socks5),
                (None, None) => unreachable!("one of both is required"),
            };
            done.map_err(|error| (error, 1))
        }
        Command::Check {
            config,
            path,
            offline,
            rate,
            json,
        } => {
            let wanted = check::Wanted {
                path: (!offline).then_some(path),
                rate_bit_s: rate,
            };
            check::run(&config, wanted, json)
        }
        Command::Status {
            socket,
            json,
            watch,
        } => show(&socket, json, watch).map_err(|error| (error, 1)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err((error, status)) => {
            eprintln!("bentpipe-gateway: {error}");
            ExitCode::from(status)
        }
    }
}

fn daemon(config: &std::path::Path, role: Role) -> Result<(), (String, u8)> {
    let filter = EnvFilter::try_from_env("BENTPIPE_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(false)
        .init();
    let loaded = Loaded::read(config).map_err(|error| (error.to_string(), 2))?;
    if loaded.file.role != role {
        let (found, name) = (loaded.file.role, config.display());
        let message = format!("{name}: role is \"{found}\", but the command is {role}");
        return Err((message, 2));
    }
    run::run(&loaded).map_err(|error| (error, 1))
}

/// Prints how the gateway stands, once or again and again.
fn show(socket: &std::path::Path, json: bool, watch: Option<u32>) -> Result<(), String> {
    let mut before = None;
    loop {
        let standing = status::ask(socket)?;
        let text = if json {
            let text = serde_json::to_string(&standing).map_err(|error| error.to_string())?;
            text + "\n"
        } else {
            standing.text(before.as_ref())
        };
        let mut out = io::stdout();
        if watch.is_some() && !json && out.is_terminal() {
            // The screen is cleared: ECMA-48, CUP and ED.
            out.write_all(b"\x1b[H\x1b[2J")
                .map_err(|error| error.to_string())?;
        }
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        let Some(every) = watch else {
            return Ok(());
        };
        if written.is_err() {
            // Who reads it has left.
            return Ok(());
        }
        before = Some(standing);
        std::thread::sleep(Duration::from_secs(every.into()));
    }
}
