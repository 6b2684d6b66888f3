"""Print docs/results.md."""

from bentpipe.runs.reference import as_markdown

print(as_markdown(), end="")
