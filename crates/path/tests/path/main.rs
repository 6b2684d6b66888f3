//! One program for all tests of the crate that need no allocator of their own: a program each takes longer to link than to run.

#[path = "../common/mod.rs"]
mod common;

mod closed_forms;
mod configuration;
mod disciplines;
mod jitter;
mod meter;
mod properties;
mod recorded_draws;
mod titration;
mod traces;
