"""The grid of a lab: sweeps, variants and `--set` change its values, and their combinations are its cells."""
