"""Points, averages and integrals as feedback."""
