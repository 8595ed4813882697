"""Plain fits: step sizes, engines, and the sizes of the sets."""
