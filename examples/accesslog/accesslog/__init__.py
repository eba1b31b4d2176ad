"""Reads a web server's access log and reports who asked for what."""
