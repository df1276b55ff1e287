"""Cross-tables and what follows from them."""
