"""The statements of the analysis, a module each."""
