"""What each command does: a file per command."""
