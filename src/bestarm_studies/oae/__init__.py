"""Neural design for genetic perturbation experiments (Pacchiano, Wulsin, Barton, Voloch, ICLR 2023)."""
