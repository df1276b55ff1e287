"""Examples: scripts that run by themselves, and notebooks that are made from them."""
