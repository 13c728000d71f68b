"""Temperatures, thresholds and haltings, fitted to labeled data."""
