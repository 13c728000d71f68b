"""The work of `calibrate`."""
