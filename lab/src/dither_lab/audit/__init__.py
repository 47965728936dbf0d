"""Attacks and proofs that anyone can run against what ships."""
