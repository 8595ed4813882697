"""Values that the claims on aggregation compare."""

from bestarm_lab.claims.cells import Value
from bestarm_studies.gpoo.aggregation.children_and_representatives import in_grid

VALUES: dict[str, Value] = {
    "arity": Value("K, the arity of the tree", lambda rows, test: in_grid(rows, "arity")),
    "size": Value("S, representatives of a cell", lambda rows, test: in_grid(rows, "n_representatives")),
    "smoothed_error": Value("error of the model against f smoothed over a box"),
}
