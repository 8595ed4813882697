"""All claims together, and the lead of SAMPLE in the panels of the paper's figures."""
