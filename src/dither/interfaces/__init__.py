"""Interfaces to a session: command line, HTTP, web page, remote client."""
