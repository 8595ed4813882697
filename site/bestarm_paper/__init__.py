"""The findings paper: its text, with every number taken from a committed row, as one HTML file."""
