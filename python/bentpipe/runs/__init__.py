"""Runs: the record, the tables and the folder of a run, and reading many runs at once."""
