"""Validation of input around public constructors and searches of one's own, never in simulations."""
