"""Array code: no privacy, no input or output, no state."""
