//! A tunnel over a path in virtual time.

mod delivery;
mod path;
mod policies;
mod slow_flows;
