"""Wording of figures, durations and faults in messages, tables and charts. Independent of labs and runs."""
