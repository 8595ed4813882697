"""The drug simulator: Figure 5 and Table 6."""
