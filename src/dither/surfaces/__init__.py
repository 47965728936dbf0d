"""Thin doors to the house: command line, and later HTTP and a page."""
