pub mod congestion;
