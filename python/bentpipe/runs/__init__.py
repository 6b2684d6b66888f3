"""What a run is: its record, its tables, the folder that holds them, and many of those read at once."""
