"""The paper's text against the authors' code, and causes that the paper names."""
