"""What to draw (descriptions built from results), then how (matplotlib for files, plotly for the page)."""
