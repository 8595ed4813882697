"""The paper's text against the authors' code."""
