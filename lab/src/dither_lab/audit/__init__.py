"""The audit: attacks on every mechanism, and exact checks of its privacy claims."""
