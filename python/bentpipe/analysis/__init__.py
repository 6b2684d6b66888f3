"""What a run's figures say: figures in, findings out, as data. What draws or writes them is above."""
