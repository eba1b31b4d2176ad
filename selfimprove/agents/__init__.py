"""What fills a role: offline, a command of the user's, or a script."""
