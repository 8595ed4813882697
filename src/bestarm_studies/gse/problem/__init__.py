"""How hard the instances are, and the settings of the rivals."""
