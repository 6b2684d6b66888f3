"""The page that `bentpipe web` serves, only to this machine: the playground, runs, their results.

It keeps nothing of its own: what it shows is in the folder of runs. A run that it starts is a process of its
own (run_process.py).
"""
