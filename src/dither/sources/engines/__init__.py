"""Engines, which hold tables.  Each runs the same few queries; only windows of ranks and totals are fetched."""
