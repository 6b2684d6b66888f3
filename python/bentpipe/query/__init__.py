"""SQL over the tables of a folder of runs."""
