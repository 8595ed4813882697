"""What a determinant measures, and batches that are sampled or maximised by it."""
