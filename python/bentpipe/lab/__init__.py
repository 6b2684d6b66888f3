"""The lab file: read, checked once at the edge, and laid out as the points to run. Knows no engine."""
