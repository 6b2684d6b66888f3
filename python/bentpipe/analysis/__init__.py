"""Turns the figures of runs into findings, as data. Charts and reports draw and print them."""
