"""The verdicts on all claims."""
