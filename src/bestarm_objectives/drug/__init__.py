"""Drug repurposing for epilepsy: the data, the simulator and the recorded scores behind Figures 1(c) and 5.

The paper is Réda, Kaufmann, Delahaye-Duriez, "Top-m identification for linear bandits", AISTATS 2021, and the part of
it that modules name by a number alone is Appendix B, with Algorithms 2 (simulator) and 3 (baseline). The authors' files
are those of their release, https://github.com/clreda/linear-top-m (folder ``DR_Data``).
"""
