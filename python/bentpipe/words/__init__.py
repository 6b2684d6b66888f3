"""How figures, durations and faults are said: in messages, tables and charts. Knows no lab and no run."""
