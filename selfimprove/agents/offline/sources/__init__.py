"""Where ideas come from: one module for each kind, each with NAME and find(files)."""
