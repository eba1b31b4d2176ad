"""What each ecosystem's repositories are recognised by; one file each, `propose(site)`."""
