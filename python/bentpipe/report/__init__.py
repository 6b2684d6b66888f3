"""Results for people: a table for the terminal, a page to keep and to show."""
