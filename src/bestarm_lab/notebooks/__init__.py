"""Notebooks: their execution, their sections, and the pages made of them."""
