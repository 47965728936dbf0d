"""Sessions: a registered dataset, its budget and its history; the one place where all parts join."""
