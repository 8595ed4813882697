"""A planar walker of three links: its mechanics, and its walks."""
