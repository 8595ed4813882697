"""Studies: one package for each paper, with all that is that paper's own."""
