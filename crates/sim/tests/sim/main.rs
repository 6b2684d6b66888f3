//! One program for all tests of whole connections that need no allocator of their own: a program each takes longer to link than
//! to run.

mod any_path;
mod careful_resume;
mod closed_forms;
mod fixed_rate;
mod gateway;
mod gateway_law;
mod host_timing;
mod long_path_loss;
mod packets;
mod pair;
mod pair_properties;
mod response_functions;
mod split;
mod split_ends;
mod tunnel;
mod writers;
