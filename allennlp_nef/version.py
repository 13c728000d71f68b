VERSION = "0.2.0"
"""The version of this package. pyproject.toml reads it from here."""
