"""A label that is the name of an algorithm belongs to that algorithm."""

from __future__ import annotations

from typing import Any, NamedTuple


class _Preset(NamedTuple):
    """What bears a name: classes, the settings that make it, and the named constructor."""

    classes: tuple[str, ...]
    settings: dict[str, Any]
    constructor: str = ""


_POSITIVE = object()  # any number above 0, or any weight that is not None

_OAE = ("Oae",)
_MAX = ("dpp-max", "pure-exploration")  # the same, without and with repeats
_PRESETS: dict[str, _Preset] = {
    "LUCB": _Preset(("Gifa",), {"by_gap_index": False}, "lucb"),
    "UGapE": _Preset(("Gifa",), {"by_gap_index": True, "challenged_by_mth": False}, "ugape"),
    "m-LinGapE": _Preset(("Gifa",), {"by_gap_index": False}, "m_lingape"),
    "LinGIFA": _Preset(("Gifa",), {"by_gap_index": True, "challenged_by_mth": True}, "lingifa"),
    "LinGapE": _Preset(("Gifa",), {"by_gap_index": False, "n_best": 1}, "lingape"),
    "LinGapE-Greedy": _Preset(("Gifa",), {"by_gap_index": False, "selection": "greedy"}, "lingape_greedy"),
    "LinGame": _Preset(("LinGame",), {}, "LinGame"),
    "GSE-Lin": _Preset(("Gse",), {"model": "linear"}, "gse_lin"),
    "GSE-Log": _Preset(("Gse",), {"model": "logistic"}, "gse_log"),
    "OD-LinBAI": _Preset(("OdLinBai",), {}, "OdLinBai"),
    "Peace": _Preset(("Peace", "PeaceWidth"), {}, "Peace"),
    "LinUCB": _Preset(("LinUcb",), {}, "LinUcb"),
    "UCB-GLM": _Preset(("UcbGlm",), {}, "UcbGlm"),
    "BayesGap": _Preset(("BayesGap",), {}, "BayesGap"),
    "GPOO": _Preset(("Gpoo",), {}, "gpoo"),
    "StoOO": _Preset(("Stooo",), {}, "stooo"),
    "AVE-StoOO": _Preset(("Stooo",), {}, "ave_stooo"),
    "GPTree": _Preset(("GpTree",), {}, "gp_tree"),
    "RandomBatch": _Preset(("RandomBatch",), {}, "random_batches"),
    "Greedy": _Preset(("Oae", "LinearGreedy"), {"optimism": 0.0, "diversity": None}, "greedy"),
    "MeanOpt": _Preset(_OAE, {"objective": "avg", "optimism": _POSITIVE, "diversity": None}, "mean_opt"),
    "HingePNorm": _Preset(_OAE, {"objective": "hinge", "optimism": _POSITIVE, "diversity": None}, "hinge_p_norm"),
    "MaxOpt": _Preset(_OAE, {"objective": "softmax", "optimism": _POSITIVE, "diversity": None}, "max_opt"),
    "DetD": _Preset(("Oae", "LinearDiverse", "LinearLogDet"), {"diversity": _POSITIVE}, "det_d"),
    "SeqB": _Preset(("SeqB", "LinearSeq"), {}, "seq_b"),
    "Ensemble": _Preset(("EnsembleSearch",), {"label_noise": 0.0}, "ensemble"),
    "EnsembleNoiseY": _Preset(("EnsembleSearch",), {"label_noise": _POSITIVE}, "ensemble_noise_y"),
    "Ensemble-SeqB": _Preset(("EnsembleSeqB",), {"label_noise": 0.0}, "ensemble_seq_b"),
    "Ensemble-SeqB-NoiseY": _Preset(("EnsembleSeqB",), {"label_noise": _POSITIVE}, "ensemble_seq_b_noise_y"),
    "GP-BUCB": _Preset(("BatchGP",), {"rule": "hallucinate", "acquisition": "ucb"}, "gp_bucb"),
    "B-EST": _Preset(("BatchGP",), {"rule": "hallucinate", "acquisition": "est"}, "b_est"),
    "UCB-DPP-MAX": _Preset(("BatchGP",), {"rule": _MAX, "acquisition": "ucb"}, "ucb_dpp_max"),
    "EST-DPP-MAX": _Preset(("BatchGP",), {"rule": _MAX, "acquisition": "est"}, "est_dpp_max"),
    "UCB-DPP-SAMPLE": _Preset(("BatchGP",), {"rule": "dpp-sample", "acquisition": "ucb"}, "ucb_dpp_sample"),
    "EST-DPP-SAMPLE": _Preset(("BatchGP",), {"rule": "dpp-sample", "acquisition": "est"}, "est_dpp_sample"),
    "LP-UCB": _Preset(("BatchGP",), {"rule": "local-penalty", "acquisition": "ucb"}, "lp_ucb"),
    "Thompson": _Preset(("BatchGP",), {"rule": "thompson"}, "thompson"),
}
# common words are names among relatives only: a gap-index algorithm may be called greedy
_AMONG = {"Greedy": "BatchSearch", "Ensemble": "BatchSearch", "Thompson": "BatchGP", "Peace": "StagePolicy"}
_BY_WORD = {name.casefold(): name for name in _PRESETS}


def check_label(policy: Any) -> None:
    """Refuse a label whose first word is the name of another algorithm than the policy.

    Raises
    ------
    ValueError
        With the setting that differs, and the constructor that has the name.
    """
    label = getattr(policy, "label", "")
    name = _BY_WORD.get(label.split(" ")[0].casefold()) if label else None
    if name is None:
        return
    preset, kinds = _PRESETS[name], {c.__name__ for c in type(policy).__mro__}
    remedy = f"use bestarm.{preset.constructor}, or another label."
    if kinds.isdisjoint(preset.classes):
        if _AMONG.get(name, type(policy).__name__) not in kinds:
            return
        raise ValueError(f"label {label!r} is the name of another algorithm than {type(policy).__name__}; {remedy}")
    for setting, value in preset.settings.items():
        found = getattr(policy, setting, value)
        if value is _POSITIVE:
            wrong, rule = found is None or (isinstance(found, int | float) and not found > 0), "positive"
        elif isinstance(value, tuple):
            wrong, rule = found not in value, " or ".join(map(repr, value))
        else:
            wrong, rule = found != value, repr(value)
        if wrong:
            raise ValueError(f"label {label!r} wants {setting} to be {rule}, got {found!r}; {remedy}")
