"""Settings and readings of GPOO."""
