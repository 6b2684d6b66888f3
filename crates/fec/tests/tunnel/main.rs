//! A tunnel over a path in virtual time.

mod delivery;
mod hostile;
mod path;
mod policies;
mod slow_flows;
