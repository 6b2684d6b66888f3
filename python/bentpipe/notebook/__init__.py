"""What `bentpipe.Results` offers in Python and in a notebook, on top of results, charts and reports."""
