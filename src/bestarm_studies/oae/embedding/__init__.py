"""What other contexts tell of a group or a line."""
