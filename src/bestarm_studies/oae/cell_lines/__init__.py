"""Search among the perturbations of a cell line: the official signatures, their stand-ins, the embedding."""

BATCH, ROUNDS, RUNS = 50, 20, 25  # the paper's; it does not say how many runs
