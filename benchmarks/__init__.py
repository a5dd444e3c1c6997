"""Measurements: one question per file, ratios in one run. `make bench` answers all of them."""
