"""The commands, a file each. cli.py puts them together and turns what went wrong into a status."""
