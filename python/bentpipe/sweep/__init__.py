"""Points times seeds become runs in a folder: executors, resuming, progress."""
