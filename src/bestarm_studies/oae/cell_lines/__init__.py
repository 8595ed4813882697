"""Search among the perturbations of a cell line: the official signatures, their stand-ins, the embedding."""
