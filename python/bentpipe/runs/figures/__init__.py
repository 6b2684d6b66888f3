"""Figures that every engine writes into a run's record, computed from what the run measured."""
