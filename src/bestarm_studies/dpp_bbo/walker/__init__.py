"""Two walkers: tables of their walks, searches of both, and how steep they are."""
