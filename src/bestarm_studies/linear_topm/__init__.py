"""Top-m identification for linear bandits (Réda, Kaufmann, Delahaye-Duriez, AISTATS 2021)."""
