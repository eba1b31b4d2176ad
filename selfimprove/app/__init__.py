"""What the commands that do work come to, one file each: options in, an exit code out."""
