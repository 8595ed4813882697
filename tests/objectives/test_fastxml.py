"""FastXML: its parts against naive versions and optimality conditions, its behaviour, and all sizes of a forest."""

import numpy as np
import pytest
import scipy.sparse as sparse
from refusals import refused, refuses

from bestarm_lab.datasets.registry import available
from bestarm_objectives.fastxml.forest import FastXML, precision_sums
from bestarm_objectives.fastxml.grid import forest_rows
from bestarm_objectives.fastxml.label_tree import NO_CHILD, ranking_partition
from bestarm_objectives.fastxml.points import power_law_points, read_points, read_split, stand_in_split
from bestarm_objectives.fastxml.sparse_logistic import l1_logistic, penalised_loss

TRAIN, TEST = stand_in_split()
POINTS = "3 4 2\n0,1 0:1 3:0.5\n 2:1\n1 1:2\n"


def popularity_precision(labels, tested):
    """Return the precision at 1 of the most frequent label, whatever the features."""
    return tested[:, np.asarray(labels.sum(axis=0)).argmax()].mean()


def columns_of(dense):
    matrix = sparse.csc_matrix(dense)
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data


def test_logistic_fulfils_the_conditions_of_its_optimum():
    """At w = 0 the slope is at most 1, elsewhere it is -sign(w), to 1e-4; nothing near has a smaller loss."""
    rng = np.random.default_rng(0)
    x = (rng.random((120, 15)) < 0.3) * rng.normal(1, 0.5, (120, 15))
    sides = np.where(x[:, 0] - x[:, 1] + rng.normal(0, 0.5, 120) > 0, 1, -1)
    costs = rng.uniform(0.5, 2.0, 120)
    w, margins = l1_logistic(*columns_of(x), sides, costs, 1e-9, 200)
    np.testing.assert_allclose(margins, x @ w, atol=1e-10)
    slopes = x.T @ (-costs * sides / (1 + np.exp(sides * margins)))
    assert 0 < (w != 0).sum() < 15
    np.testing.assert_allclose(slopes[w != 0], -np.sign(w[w != 0]), atol=1e-4)
    assert np.abs(slopes[w == 0]).max() <= 1 + 1e-4
    loss = penalised_loss(margins, sides, costs, w)
    for _ in range(50):
        other = w + rng.normal(0, 1e-2, 15)
        assert penalised_loss(x @ other, sides, costs, other) >= loss - 1e-9


def test_default_tolerance_is_near_the_optimum():
    """Ten Newton steps at most come within 2% of the optimal loss."""
    rng = np.random.default_rng(1)
    x = (rng.random((200, 40)) < 0.1).astype(float)
    sides = np.where(rng.random(200) < 0.5, 1, -1)
    costs = np.full(200, 3.0)
    rough, exact = l1_logistic(*columns_of(x), sides, costs), l1_logistic(*columns_of(x), sides, costs, 1e-9, 500)
    losses = [penalised_loss(m, sides, costs, w) for w, m in (rough, exact)]
    assert losses[1] <= losses[0] <= 1.02 * losses[1]


def ndcg(labels, ranking):
    gains = 1.0 / np.log2(np.arange(len(ranking)) + 2)
    return gains[[list(ranking).index(label) for label in labels]].sum() / gains[: len(labels)].sum()


def test_ranking_partition_improves_the_ndcg_by_its_definition():
    """The value returned is the mean nDCG of the rankings of both sides, and is larger than that of the start."""
    rng = np.random.default_rng(2)
    sets = [rng.choice(8, size=rng.integers(1, 4), replace=False) for _ in range(40)]
    starts = np.concatenate([[0], np.cumsum([len(s) for s in sets])]).astype(np.int64)
    first = rng.choice([-1, 1], 40)

    def mean_ndcg(sides):
        total = 0.0
        for side in (-1, 1):
            sums = np.zeros(8)
            for s in np.flatnonzero(sides == side):
                sums[sets[s]] += 1.0 / (1.0 / np.log2(np.arange(len(sets[s])) + 2)).sum()
            ranking = np.argsort(-sums, kind="stable")
            total += sum(ndcg(sets[s], ranking) for s in np.flatnonzero(sides == side))
        return total / 40

    sides = first.copy()
    reached = ranking_partition(starts, np.concatenate(sets), 8, sides)
    assert reached == pytest.approx(mean_ndcg(sides), abs=1e-6)
    assert reached > mean_ndcg(first)


def test_separable_points_are_learned():
    """Four groups with a word each get their own label, from noisy words, with every forest seed."""
    rng = np.random.default_rng(3)
    group = rng.integers(4, size=200)
    words = np.hstack([np.eye(4)[group], rng.random((200, 20)) < 0.05])
    for seed in range(3):
        model = FastXML(n_trees=5, log_loss=10.0, max_leaf=5, seed=seed).fit(words[:100], np.eye(4)[group[:100]])
        assert model.precision_at_k(words[100:], np.eye(4)[group[100:]]) > 0.97
        assert (model.predict(words[100:])[:, 0] == group[100:]).mean() > 0.97


def test_more_trees_do_not_hurt_and_words_help():
    """From 1 to 5 to 20 trees precision rises; 20 trees beat popularity by a half; P@1 >= P@3 >= P@5."""
    model = FastXML(n_trees=20, log_loss=3.0).fit(*TRAIN)
    precisions = []
    for n in (1, 5, 20):
        part = FastXML(n_trees=n, log_loss=3.0).fit(*TRAIN)
        precisions.append(part.precision_at_k(*TEST))
        np.testing.assert_array_equal(part.trees_[0].weights, model.trees_[0].weights)
    assert precisions[0] < precisions[1] <= precisions[2] + 0.02
    assert precisions[2] > 1.5 * popularity_precision(TRAIN.labels, TEST.labels)
    by_k = [model.precision_at_k(*TEST, k) for k in (1, 3, 5)]
    assert by_k == sorted(by_k, reverse=True)


def test_trees_are_trees():
    """Children partition their node, leaves are small or could not be split, shares are frequencies."""
    for tree in FastXML(n_trees=3, max_leaf=10).fit(*TRAIN).trees_:
        inner = tree.children[:, 0] != NO_CHILD
        assert tree.sizes[0] == 400
        np.testing.assert_array_equal(tree.sizes[tree.children[inner]].sum(axis=1), tree.sizes[inner])
        assert (tree.sizes[inner] > 10).all()
        assert (tree.shares > 0).all()
        assert (tree.shares <= 1).all()
    scores = FastXML(n_trees=2).fit(*TRAIN).predict_proba(TEST.features)
    assert scores.shape == (200, 40)
    assert scores.min() >= 0
    assert scores.max() <= 1


def test_precision_agrees_with_sorting():
    """Precision at 1 to 5 of random scores with ties is that of a stable sort."""
    rng = np.random.default_rng(4)
    scores, truth = rng.integers(0, 4, (30, 9)).astype(float), rng.random((30, 9)) < 0.3
    rows = sparse.csr_matrix(truth)
    found = precision_sums(scores, rows.indptr.astype(np.int64), rows.indices.astype(np.int64), 5)
    ranked = np.argsort(-scores, axis=1, kind="stable")
    np.testing.assert_allclose(found, [np.take_along_axis(truth, ranked[:, :k], axis=1).mean() for k in range(1, 6)])


def test_seeds_threads_and_dense_input_change_what_they_should():
    one = FastXML(n_trees=2).fit(*TRAIN).predict_proba(TEST.features)
    np.testing.assert_array_equal(
        one, FastXML(n_trees=2, n_jobs=2).fit(TRAIN.features.toarray(), TRAIN.labels).predict_proba(TEST.features)
    )
    assert (one != FastXML(n_trees=2, seed=1).fit(*TRAIN).predict_proba(TEST.features)).any()


test_parameters_out_of_range_are_refused = refused(
    lambda settings: FastXML(**settings).fit(*TRAIN),
    ({"n_trees": 0}, "n_trees"),
    ({"max_leaf": 1.5}, "max_leaf"),
    ({"log_loss": 0.0}, "log_loss"),
    ({"bias": np.nan}, "bias"),
)


def test_wrong_shapes_are_refused():
    """Rows that do not match, columns of another number, and a forest without trees."""
    refuses(lambda: FastXML().fit(TRAIN.features, TRAIN.labels[:10]), "same rows")
    refuses(lambda: FastXML().predict_proba(TEST.features), "call fit first")
    refuses(lambda: FastXML(n_trees=1).fit(*TRAIN).predict_proba(TEST.features[:, :5]), "must have 200 columns")


def test_one_forest_gives_all_sizes_exactly():
    """A row of the table is the precision of a forest trained with these very hyper-parameters."""
    rows = forest_rows(TRAIN, TEST, bias=0.5, cost=3.0, trees=(1, 4), leaf_sizes=(2, 10, 40), label_counts=(1, 3, 100))
    assert len(rows) == 18
    for row in rows.itertuples():
        model = FastXML(row.trees, row.bias, row.cost, row.leaf, row.labels).fit(*TRAIN)
        assert row.p1 == pytest.approx(model.precision_at_k(*TEST), abs=1e-12)
        assert row.p3 == pytest.approx(model.precision_at_k(*TEST, 3), abs=1e-12)


def test_reading_points(tmp_path):
    """Labels, values and a point without labels; a line of another form, or too few lines, are named."""
    path = tmp_path / "points.txt"
    path.write_text(POINTS)
    features, labels = read_points(path)
    np.testing.assert_array_equal(features.toarray(), [[1, 0, 0, 0.5], [0, 0, 1, 0], [0, 2, 0, 0]])
    np.testing.assert_array_equal(labels.toarray(), [[1, 1], [0, 0], [0, 1]])
    for text, message in (
        (POINTS.replace("3 4 2", "4 4 2"), "promises 4 points"),
        (POINTS.replace("2:1", "two:1"), "line 3"),
        (POINTS.replace("1 1:2", "7 1:2"), "a label is outside"),
        ("nothing", "first line"),
    ):
        path.write_text(text)
        refuses(lambda: read_points(path), message)


def test_power_law_points():
    """The first label is the most frequent; two draws share what labels prefer."""
    counts = np.asarray(power_law_points(300, 50, 10, seed=0).labels.sum(axis=0)).ravel()
    assert counts.argmax() == 0
    assert counts.min() > 0


@pytest.mark.skipif(not available("bibtex-train", "bibtex-test"), reason="nobody has Bibtex")
def test_bibtex_well_above_popularity():
    """Ten trees on a third of the training points reach a precision at 1 above 0.45; popularity alone has 0.14."""
    train, test = read_split("Bibtex")
    assert (train.features.shape, test.labels.shape) == ((4880, 1836), (2515, 159))
    assert train.labels.sum() + test.labels.sum() == pytest.approx(2.402 * 7395, rel=1e-3)
    assert FastXML(n_trees=10).fit(train.features[::3], train.labels[::3]).precision_at_k(*test) > 0.45
    assert popularity_precision(train.labels, test.labels) == pytest.approx(0.136, abs=1e-3)
