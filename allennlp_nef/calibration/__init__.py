"""Temperatures, thresholds and halting rules, fitted to labeled data."""
