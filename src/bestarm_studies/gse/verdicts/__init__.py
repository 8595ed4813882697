"""The verdicts, and what explains the gap to the best rival."""
