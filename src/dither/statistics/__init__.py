"""Statistics: values of private records on public grids, with the sensitivity structures that they offer."""
