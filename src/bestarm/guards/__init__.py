"""Refusals of bad input at the door: around public constructors and searches of one's own, never in simulations."""
