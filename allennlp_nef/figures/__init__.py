"""Figures (matplotlib), and pages that replay how a sentence was tagged."""
