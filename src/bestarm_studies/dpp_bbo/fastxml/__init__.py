"""Searches for the best hyper-parameters of FastXML in tables of its precision."""
