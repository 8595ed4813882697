"""Screens of one's own: tables in, the next batch out."""
