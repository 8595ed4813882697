"""k-DPPs, and batches that are sampled or maximised by a determinant."""
