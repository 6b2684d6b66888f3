"""Import from and export to other programs: a file per format, one line of registration each."""
