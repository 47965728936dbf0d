"""Thin doors to a session: command line, HTTP, web page, remote client."""
