"""Sources of private records, bounded and quantised.  The reprs of private objects show no record."""
