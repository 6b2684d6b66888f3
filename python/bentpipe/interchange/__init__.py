"""Results to and from other people's programs: a file per format, one line of registration each."""
