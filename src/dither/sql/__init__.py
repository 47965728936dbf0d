"""SQL: a text becomes queries, a filter and groups.  Nothing of the text ever reaches an engine."""
