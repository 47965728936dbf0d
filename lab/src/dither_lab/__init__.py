"""The laboratory of dither: audit, benchmarks, and the papers' experiments.  The product never imports it."""
