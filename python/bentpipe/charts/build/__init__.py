"""Builds charts and panels as values (description.py) from results."""
