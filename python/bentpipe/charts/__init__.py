"""Charts: descriptions built from results, and their drawing (matplotlib for files, plotly for the page)."""
