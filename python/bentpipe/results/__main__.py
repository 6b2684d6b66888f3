"""Print docs/results.md."""

from bentpipe.results.reference import as_markdown

print(as_markdown(), end="")
