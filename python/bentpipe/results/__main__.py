"""Print docs/results.md."""

from bentpipe.results.schema import as_markdown

print(as_markdown(), end="")
