"""What to draw: charts and panels as values (description.py), built from results."""
