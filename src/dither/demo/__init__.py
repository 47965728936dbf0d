"""Data that the project generates itself, and a tour over it."""
