"""Where the runs of a sweep are done: one by one here, in processes of this machine, or on a cluster.

All offer the same (base.py): tasks go in, outcomes come out as they end. Runs know nothing of each other, so
where and in which order they are done changes nothing in what they find.
"""
