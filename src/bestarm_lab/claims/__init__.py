"""Claims of papers, decided on rows."""
