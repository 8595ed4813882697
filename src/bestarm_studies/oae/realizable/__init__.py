"""Responses that the class contains: fits to tables."""
