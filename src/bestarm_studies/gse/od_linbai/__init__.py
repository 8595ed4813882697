"""OD-LinBAI: Figures 6 and 7."""
