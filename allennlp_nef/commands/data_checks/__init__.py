"""What `check-data` does."""
