"""What the paper leaves open, one choice at a time and all drawn together."""
