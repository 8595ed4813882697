"""Cars and a motor: Figure 5."""
