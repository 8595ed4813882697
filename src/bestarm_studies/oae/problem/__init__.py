"""The problem: landscapes, and a search round by round."""
