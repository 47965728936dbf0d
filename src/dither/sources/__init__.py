"""Bounded, quantised records.  What lives here is private; its reprs say nothing about it."""
