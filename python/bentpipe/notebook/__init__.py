"""The API for Python and notebooks, on top of results, charts and reports."""
