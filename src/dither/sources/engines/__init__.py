"""Engines: where tables live.  Each runs the same few queries and lets only windows and totals out."""
