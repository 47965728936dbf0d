"""Exact noise: standard laws, their lazily refined draws, and the proofs that calibrate them."""
