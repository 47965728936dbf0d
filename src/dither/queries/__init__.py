"""Queries.  Each resolves, from public facts, to a statistic with a value and a ladder."""
