//! The live engine.
