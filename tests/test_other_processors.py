"""What the libraries would do on other processors: a small set of tests, and rows, under each of their code paths.

NumPy, OpenBLAS, MKL and Torch choose code by the processor that they find. Variables of the environment make them take
that of another one, older than this. MKL heeds ``MKL_ENABLE_INSTRUCTIONS`` on Intel's processors, ``MKL_CBWR`` on all.
What this processor has no instructions for is left out.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from numpy._core._multiarray_umath import __cpu_features__

from bestarm.models.fused_tiles import FEATURES, TRIPLE
from bestarm_lab.experiments.run import make_rows
from bestarm_lab.notebooks.rebuild import compare_rows
from bestarm_lab.study import load_study, project_seed

PATHS = {
    "SSE4.2": {
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
        "MKL_CBWR": "COMPATIBLE",
        "OPENBLAS_CORETYPE": "Nehalem",
        "ATEN_CPU_CAPABILITY": "default",
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
    },
    "AVX2 of Intel": {
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "MKL_CBWR": "AVX2",
        "OPENBLAS_CORETYPE": "Haswell",
        "ATEN_CPU_CAPABILITY": "avx2",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    },
    "AVX2 of AMD": {"MKL_CBWR": "AUTO", "OPENBLAS_CORETYPE": "Zen", "ATEN_CPU_CAPABILITY": "avx2"},
}
"""The libraries' code for a processor of 2008, of 2013 and of 2017."""

TESTS = [
    "models/test_finite_gp.py::test_posterior_is_that_of_gpy",
    "models/test_finite_gp.py::test_hallucinating_is_refitting_with_the_mean_as_reward",
    "models/test_least_squares.py",
    "models/test_mlp_fit.py::test_a_group_is_each_network_trained_alone[hidden1-avg]",
    "models/test_mlp_fit.py::test_a_group_is_each_network_trained_alone[hidden2-softmax]",
    "models/test_mlp_fit.py::test_networks_depend_on_their_company_by_rounding_alone[hidden1-1]",
    "models/test_mlp_fit.py::test_predictions_of_one_and_of_many_feature_sets",
    "models/test_fused_fit.py::test_every_step_of_every_shape_is_that_of_the_network_alone[13-hidden19]",
    "models/test_fused_fit.py::test_networks_do_not_depend_on_their_company[1-hidden0]",
    "studies/gpoo/test_aggregated_gp.py",
]
ROWS = ("gpoo/fig2", "gse/fig2", "oae/synthetic_10_5")


def write_rows(folder: Path) -> None:
    """Write the smoke rows of some experiments, each simulated from an empty store."""
    for study, name in (which.split("/") for which in ROWS):
        with tempfile.TemporaryDirectory() as store:
            rows = make_rows(load_study(study).experiment(name), "smoke", seed=project_seed(), store=Path(store))
        rows.to_parquet(folder / f"{study}_{name}.parquet")


@pytest.fixture(scope="module", params=PATHS)
def elsewhere(request, tmp_path_factory) -> tuple[subprocess.CompletedProcess[str], Path]:
    """Return a process that has run the tests under another processor's paths, and the folder of its rows."""
    if not TRIPLE.startswith("x86_64") or ("AVX2" in request.param and "+avx2" not in FEATURES):
        pytest.skip("this processor cannot pass for that one")
    environment = os.environ | PATHS[request.param]
    unwanted = environment.pop("NPY_DISABLE_CPU_FEATURES", "").split()  # NumPy warns of names that are not here
    environment["NPY_DISABLE_CPU_FEATURES"] = " ".join(name for name in unwanted if __cpu_features__.get(name))
    command, folder = [sys.executable, __file__], tmp_path_factory.mktemp("rows")
    ran = subprocess.run([*command, str(folder)], env=environment, capture_output=True, text=True, timeout=1200)
    return ran, folder


@pytest.mark.slow
def test_models_agree_with_their_judges(elsewhere):
    """Bit for bit where own kernels promise it, else within rounding."""
    ran, _ = elsewhere
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-2000:]


@pytest.fixture(scope="module")
def own_rows(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    write_rows(folder)
    return folder


@pytest.mark.slow
def test_choices_are_the_same_and_numbers_within_rounding(elsewhere, own_rows):
    """Posterior means, searches of GSE, and searches by networks that the fused kernels fit: no value has moved."""
    _, folder = elsewhere
    for file in sorted(own_rows.iterdir()):
        own, other = pd.read_parquet(file), pd.read_parquet(folder / file.name)
        assert compare_rows(own, other)["moved"] == 0
        whole = own.select_dtypes(exclude="floating").columns  # arms, pulls, rounds, whether a run stopped
        pd.testing.assert_frame_equal(own[whole], other[whole])


if __name__ == "__main__":
    options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:nbval"]
    status = pytest.main([*options, *(str(Path(__file__).parent / name) for name in TESTS)])
    write_rows(Path(sys.argv[1]))
    sys.exit(status)
