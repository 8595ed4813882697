"""The statements of the analysis: a module each, the small ones in ``checks``."""
