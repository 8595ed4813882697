"""All verdicts, counted and drawn."""
