"""A gene network as a picture: where its genes stand, and how its edges are drawn."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, shortest_path

from bestarm.interface import FloatArray
from bestarm_lab.figures.figures import WIDTH, headed
from bestarm_objectives.drug.boolean_network import BooleanNetwork, Edge

ACTIVATION, REPRESSION, PERTURBED, OTHER_GENE = "#00664A", "#D55E00", "#E69F00", "#E8EEF2"
NAME_POINTS = 6.5
STEPS = 300
CLOSEST = 0.85  # distance that two genes keep, in units of an edge


def place_genes(edges: Sequence[Edge], *, width: float = 18.0, seed: int = 0) -> dict[str, tuple[float, float]]:
    """Return a place for every gene with an edge: near its neighbours, components side by side.
    A component minimises its stress by majorisation, then moves overlapping genes apart; rows have a ``width``."""
    genes = sorted({gene for edge in edges for gene in edge[:2]})
    index = {gene: i for i, gene in enumerate(genes)}
    ends = np.array([[index[edge.regulator], index[edge.gene]] for edge in edges]).T
    graph = coo_array((np.ones(len(edges)), (ends[0], ends[1])), shape=(len(genes), len(genes))).tocsr()
    _, component = connected_components(graph, directed=False)
    distances = shortest_path(graph, directed=False, unweighted=True)
    places = np.zeros((len(genes), 2))
    left, top, height = 0.0, 0.0, 0.0
    for label in np.argsort(-np.bincount(component), kind="stable"):
        members = np.flatnonzero(component == label)
        block = _least_stress(distances[np.ix_(members, members)], np.random.default_rng(seed))
        block -= block.min(axis=0)
        size = block.max(axis=0) + 1.0
        if left > 0 and left + size[0] > width:
            left, top, height = 0.0, top - height, 0.0
        places[members] = block * [1, -1] + [left, top]
        left, height = left + size[0], max(height, size[1])
    return {gene: (float(x), float(y)) for gene, (x, y) in zip(genes, places, strict=True)}


def _least_stress(distances: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return points in the plane with about these distances, the longer axis horizontal."""
    n = len(distances)
    weights = 1.0 / np.maximum(distances, 1.0) ** 2 * (1 - np.eye(n))
    inverse = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights)
    points = rng.standard_normal((n, 2))
    for _ in range(STEPS):
        between = np.linalg.norm(points[:, None] - points[None], axis=2)
        ratio = weights * distances / np.maximum(between, 1e-9)
        points = inverse @ (np.diag(ratio.sum(axis=1)) - ratio) @ points
    for _ in range(STEPS):
        apart = points[:, None] - points[None]
        between = np.linalg.norm(apart, axis=2) + 1e-9
        short = np.where(np.eye(n) == 1, 0.0, np.maximum(CLOSEST - between, 0.0))
        points += 0.25 * ((short / between)[:, :, None] * apart).sum(axis=1)
    points -= points.mean(axis=0)
    return points @ np.linalg.svd(points, full_matrices=False)[2].T


def draw_network(axis: Axes, network: BooleanNetwork) -> Axes:
    """Draw the genes that have an edge: activation a solid arrow, repression a dashed line with a bar."""
    places = place_genes(network.edges)
    for edge in network.edges:
        activates = edge.sign > 0
        style = {
            "arrowstyle": "-|>,head_width=0.22,head_length=0.4" if activates else "-[,widthB=0.5,lengthB=0.0",
            "color": ACTIVATION if activates else REPRESSION,
            "linestyle": "-" if activates else "--",
            "lw": 1.0 if activates else 1.8,
            "shrinkA": NAME_POINTS,
            "shrinkB": NAME_POINTS + 1,
            "connectionstyle": "arc3,rad=0.08",
            "mutation_scale": 9,
        }
        axis.annotate("", places[edge.gene], places[edge.regulator], arrowprops=style, zorder=1)
    for gene, (x, y) in places.items():
        marked = gene in network.perturbed
        fill, bold = (PERTURBED, "bold") if marked else (OTHER_GENE, None)
        box = {"boxstyle": "round,pad=0.25", "fc": fill, "ec": "0.35", "lw": 0.6 + marked}
        axis.text(x, y, gene, ha="center", va="center", fontsize=NAME_POINTS, fontweight=bold, bbox=box, zorder=3)
    axis.update_datalim(list(places.values()))
    axis.autoscale_view()
    for text in axis.texts:
        text.set_in_layout(False)  # an arrow between two genes needs no margin
    axis.set_axis_off()
    axis.margins(0.05)
    return axis


def network_figure(network: BooleanNetwork, *, title: str, setting: str = "") -> Figure:
    """Return a picture of a network with a legend; its setting should say how many genes are not drawn."""
    across, down = np.ptp(np.array(list(place_genes(network.edges).values())), axis=0) + 1.5
    figure, axis = plt.subplots(figsize=(WIDTH, WIDTH * down / across + 0.5))
    draw_network(axis, network)
    marked, other = (Line2D([], [], marker="o", ls="", ms=11, mec="0.35", mfc=c) for c in (PERTURBED, OTHER_GENE))
    marked.set_label("marked as perturbed")
    other.set_label("other gene")
    activates = Line2D([], [], color=ACTIVATION, ls="-", marker=">", label="activates (+)")
    represses = Line2D([], [], color=REPRESSION, ls="--", lw=1.8, marker="|", ms=10, mew=1.8, label="represses (−)")
    figure.legend(handles=[activates, represses, marked, other], loc="outside lower center", ncols=4)
    return headed(figure, title, setting)
