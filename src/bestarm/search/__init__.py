"""Searches for people: policies by their names, a search that takes and gives tables, saving between two days."""
