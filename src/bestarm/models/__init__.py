"""What is learned from observations."""
