//! The code against an independent implementation of RFC 8681, against elimination as in a textbook, and against theory.

mod gauss;
mod oracle;
mod theory;
