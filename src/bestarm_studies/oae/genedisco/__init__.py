"""GeneDisco: which genes should be perturbed next? Four real screens, descriptors of genes, and a Bayesian network."""
