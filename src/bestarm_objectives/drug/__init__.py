"""Drug repurposing for epilepsy: the data, the simulator and the recorded scores behind Figures 1(c) and 5."""
