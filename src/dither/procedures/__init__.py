"""Private algorithms made of several queries and mechanisms."""
