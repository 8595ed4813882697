"""Designs: pulls spread over arms."""
