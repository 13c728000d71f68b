"""Serves an archive with gunicorn."""
