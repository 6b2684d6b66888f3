"""The lab file, one model per table. What parses here is legal; the doc of each field is the reference
page.
"""

from bentpipe.lab.models.lab import LabFile, Limits, Variant

__all__ = ["LabFile", "Limits", "Variant"]
