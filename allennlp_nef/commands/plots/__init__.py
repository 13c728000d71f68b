"""Figures, and the page that replays steps."""
