"""A screen of one's own: tables of genes and phenotypes, the next batch with reasons, plate maps, a log, a replay."""
