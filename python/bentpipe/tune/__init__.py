"""Settings of this host for a long path: planned, applied, proved by measurement, and taken back."""
