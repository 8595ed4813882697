"""Average feedback on f3: Figures 5 and 6."""
