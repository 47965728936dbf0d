"""``describe``: a table that nobody may look at, column by column, at one privacy loss for everything."""
