"""Plain fits: step sizes, and the sizes of the sets."""
