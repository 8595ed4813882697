"""GeneDisco: four real screens, descriptors of genes, and a Bayesian network that chooses what to perturb next."""
