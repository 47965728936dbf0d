"""Sensitivity structures: what a statistic says about how far few records can move it."""
