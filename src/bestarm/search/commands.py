"""The commands ``bestarm suggest``, ``bestarm replay`` and ``bestarm report``: files in, files and a few lines out."""

import argparse
import math
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bestarm import __version__
from bestarm.search.any_size import learns_from
from bestarm.search.atomic_files import write_atomically
from bestarm.search.campaign import Campaign, next_round, refuse_lost
from bestarm.search.candidates import read_features
from bestarm.search.choices import Choice, parsed_settings
from bestarm.search.errors import Reading, mean_of
from bestarm.search.genes import known_symbols, matched, places, wells_of
from bestarm.search.next_batch import Plan, recomputed_batches
from bestarm.search.parser import SCREEN_POLICY
from bestarm.search.replay import chance, hits_of, replay, summary
from bestarm.search.rounds import Round, Values, known_at, reward, same
from bestarm.search.table_files import read_table_file
from bestarm.search.tables import averaged, counted, listed, read_wells


def run_suggest(given: argparse.Namespace) -> int:
    """Suggest a batch, or check the log; return 0, or 1 where the check finds a difference."""
    free = [well for well in given.keep_free.split(",") if well.strip()]
    wells_of(given.plate, free)
    settings = parsed_settings(given.set, given.policy is not None)
    choice = Choice(SCREEN_POLICY if given.policy is None else given.policy, settings, not given.no_scale)
    _refuse_two_hits(given.hit, [choice], given.aim)
    choice = choice.aimed_at(threshold=None if given.hit is None else reward(given.hit, given.aim))
    if given.check and (given.withdraw or given.pending):
        raise ValueError("--check changes nothing; leave out --withdraw and --pending, or check in a call of its own.")
    plan = Plan(choice, given.batch, given.seed, given.aim, given.components)
    notes: list[str] = []
    genes = read_features(given.features, notes, given.phenotype, given.words)
    if (source := Path(given.phenotypes)).is_dir():
        raise ValueError(f"{source} is a folder, no file; name the table of phenotypes in it.")
    campaign = Campaign(given.campaign or source.with_name(f"{source.stem}_rounds"))
    with campaign.locked():
        rounds = campaign.rounds()
        if given.check and not rounds:
            raise ValueError(f"there is no log in {campaign.folder}; name the folder of one by --campaign.")
        candidates, gone = campaign.reconciled(genes, rounds, given.features, notes)
        phenotypes = _phenotypes(given.phenotypes, given, candidates.names, notes, known_at(rounds), plan)
        for line in notes:
            print(f"note: {line}")
        if given.check:
            return _check(rounds, candidates, phenotypes)
        refuse_lost(rounds, phenotypes)
        waits = [gene for gene in rounds[-1].names if gene not in phenotypes] if rounds else []
        earlier = [gene for gene in rounds[-1].pending if gene not in phenotypes] if rounds else []
        if earlier and not waits and not given.pending and not given.withdraw:
            remedy = "add their rows, --pending if they still are, or --withdraw if they will not be done"
            raise ValueError(f"of earlier rounds {listed(earlier)} still being measured, as --pending said; {remedy}.")
        set_aside = None
        if given.withdraw:
            if not waits and not earlier:
                raise ValueError("no batch waits that could be withdrawn: none was suggested, or results are there.")
            if waits and len(waits) == len(rounds[-1].names):
                set_aside = rounds.pop()
            else:
                print(f"round {len(rounds)}: {len(waits or earlier)} genes not done, back among those to choose from")
                earlier = earlier if waits else []
            waits = []
        pending = list(dict.fromkeys([*earlier, *waits]))
        if waits and not given.pending:
            last = rounds[-1]
            if len(waits) < len(last.names):
                what = f"round {len(rounds)} waits for {len(waits)} of {len(last.names)} genes ({listed(waits)})"
                remedy = "or add --withdraw if they will not be done, or --pending if they are being measured"
                raise ValueError(f"{what}; add their rows, `failed` where the well failed, {remedy}.")
            if given.hit is not None and last.hit != given.hit and not math.isnan(last.hit):
                said = f"with hits from {last.hit:.6g} on; measure it, or add --withdraw to set it aside"
                raise ValueError(f"round {len(rounds)} waits for its results, {said}.")
            if dict(last.settings) != plan.described() and Plan.of(last.settings).described() != plan.described():
                changed = [k for k, v in plan.described().items() if last.settings.get(k) != v]
                said = f"with another {', '.join(changed)}; measure it, or add --withdraw to set it aside"
                raise ValueError(f"round {len(rounds)} waits for its results, {said}.")
            if not campaign.candidates_path.exists():
                campaign.keep_candidates(candidates)
            print(f"round {last.number} waits for its results: the same batch")
            _show(last, _write_plate(last, campaign, given.plate, free))
            return 0
        new = next_round(plan, candidates, phenotypes, rounds, given.hit, pending, gone)
        if set_aside is not None:  # not before a batch in its place could be made
            print(f"round {set_aside.number} withdrawn, kept as {campaign.withdraw(set_aside).name}")
        if new is None:
            print(f"all {len(candidates.names)} genes have been measured; there is nothing left to suggest.")
            return 0
        campaign.keep_candidates(candidates)
        campaign.append(new)
        written = _write_plate(new, campaign, given.plate, free)
        known = known_at([*rounds, new])
        if len(new.suggested) < plan.batch:
            print(f"note: only {len(new.suggested)} genes are left, fewer than a batch of {plan.batch}.")
        asked = {gene for each in rounds for gene in (*each.names, *each.pending)}
        unasked = sum(gene not in asked for gene, _ in new.told)
        print(
            f"round {new.number}: {len(known)} of {len(candidates.names)} genes known"
            + (f", {sum(math.isnan(v) for (v,) in known.values())} of them failed" if known else "")
            + (f"; {unasked} that no batch had suggested are taken as known" if unasked else "")
            + (f"; {len(new.revised)} revised" if new.revised else "")
            + (f"; {len(new.pending)} being measured" if new.pending else "")
        )
        if said := learns_from(choice.name, len(known), "the genes known"):
            print(f"note: {said}")
        _say_learned(new)
        _show(new, written)
    return 0


def _refuse_two_hits(hit: float | None, choices: list[Choice], aim: str) -> None:
    """Refuse two words on what a hit is, no number, and a threshold where what is maximised is not the phenotype."""
    if hit is not None and not math.isfinite(hit):
        raise ValueError(f"--hit must be a finite number, got {hit}; leave it out for a share of the best, such as 5%.")
    said = [name for choice in choices for name in ("share", "threshold") if name in choice.settings]
    if hit is not None and said:
        raise ValueError(f"--hit and --set {said[0]} both say what a hit is; give one of them.")
    if "threshold" in said and aim != "high":
        raise ValueError(f"--set threshold is of phenotypes to be large, not --aim {aim}; give --hit in its place.")


def _phenotypes(
    path: str, given: argparse.Namespace, genes: tuple[str, ...], notes: list[str], known: Values, plan: Plan | None
) -> dict[str, float]:
    """Return the mean phenotype of each gene of the features that was measured; without a plan errors do not count."""
    names, wells, to_come = read_wells(path, given.phenotype, notes)
    failed = [gene for gene in dict.fromkeys(to_come) if gene in known and math.isnan(mean_of(known[gene]))]
    names, wells = [*names, *failed], [*wells, *[[math.nan]] * len(failed)]  # of old logs
    if any(isinstance(v, Reading) for row in wells for v in row):
        if plan is None:
            notes.append(f"{Path(path).name}: a replay does not weigh phenotypes by sem, sd or n.")
        elif not plan.weighs:
            remedy = "leave those columns out, or take --policy gp or hits."
            raise ValueError(f"{path}: {plan.choice.name} cannot weigh phenotypes by sem, sd or n; {remedy}")
    if to_come := [gene for gene in to_come if gene not in failed and gene]:
        notes.append(f"{Path(path).name}: {counted(len(to_come), 'well')} without a phenotype, still to come.")
    approved = known_symbols(notes, given.symbols) if given.symbols or set(names) - set(genes) else {}
    means, deviation = averaged(matched(names, genes, approved, notes, Path(path).name), wells)
    if not math.isnan(deviation):
        weigh = ", and weigh by their number" if plan is not None and plan.weighs else ""
        notes.append(f"{Path(path).name}: replicates are averaged{weigh}; one well varies by {deviation:.3g} (sd).")
    return means


def _say_learned(new: Round) -> None:
    if not (taught := new.learned) or not taught["measured"] + taught["failed"]:
        return
    words = f"round {new.number - 1}: {taught['measured']:.0f} measured, {taught['failed']:.0f} failed"
    if not math.isnan(taught["rank_correlation"]):
        words += f"; rank correlation of prediction and measurement {taught['rank_correlation']:.2f}"
    if not math.isnan(taught["hits"]):
        words += f"; {taught['hits']:.0f} hits"
        if not math.isnan(taught["expected_hits"]):
            words += f", {taught['expected_hits']:.1f} were expected"
    print(words)


def _write_plate(shown: Round, campaign: Campaign, plate: int, free: list[str]) -> tuple[pd.DataFrame, Path]:
    """Write a batch's plate map, unless there is one, which may hold results already; return it and its place."""
    found = zip(places(len(shown.suggested), plate, free), shown.suggested, strict=True)
    rows = [{"plate": n, "well": well, "gene": s.name, "phenotype": ""} | vars(s) for (n, well), s in found]
    table = pd.DataFrame(rows).drop(columns=["name", "rank"])
    for column in ("predicted", "uncertainty", "novelty"):
        table[column] = ["" if math.isnan(value) else f"{value:.3g}" for value in table[column]]
    if not (path := campaign.plate_path(shown.number)).exists():
        write_atomically(path, table.to_csv(index=False, lineterminator="\n").encode())
        return table, path
    there = read_table_file(path, [])
    known = dict(zip(there.header, there.columns, strict=True))
    wells = dict(zip(known.get("gene", ()), known.get("well", ()), strict=False))
    for gene, well in zip(table["gene"], table["well"], strict=True):
        if wells.get(gene, well) != well:
            remedy = "leave --plate and --keep-free as they were, or delete the file, which is then written anew"
            raise ValueError(f"{path} has {gene} in well {wells[gene]}, and would have it in {well}; {remedy}.")
    return table, path


def _show(shown: Round, written: tuple[pd.DataFrame, Path]) -> None:
    table, path = written
    print(table.drop(columns=["phenotype", "nearest"]).to_string(index=False))
    if not math.isnan(shown.expected_hits):
        print(f"expected hits: {shown.expected_hits:.1f} of {len(shown.suggested)} (from {shown.hit:.3g})")
    print(f"plate map: {path}")


def _whole(value: float) -> str:
    return "failed" if math.isnan(value) else f"{value:.12g}"


def _check(rounds: list[Round], features: Any, phenotypes: dict[str, float]) -> int:
    """Print whether log and files lead to the same batches; return 1 where they do not."""
    wrong = 0
    for each, genes in zip(rounds, recomputed_batches(rounds, features), strict=True):
        equal = genes == each.names
        wrong += not equal
        made = "" if each.version == __version__ else f" (made by bestarm {each.version}, this is {__version__})"
        print(f"round {each.number}: {'the same batch' if equal else 'ANOTHER BATCH'}{made}")
    known = known_at(rounds)
    for gene, values in known.items():
        logged = _whole(mean_of(values))
        if gene not in phenotypes:
            wrong += 1
            print(f"{gene}: {logged} in the log, NOT IN THE FILE")
        elif not same(values, (phenotypes[gene],)):
            wrong += 1
            print(f"{gene}: {logged} in the log, {_whole(phenotypes[gene])} in the file")
    print(f"{len(rounds)} rounds, {len(known)} phenotypes: " + (f"{wrong} differences" if wrong else "all as logged"))
    return int(wrong > 0)


def run_replay(given: argparse.Namespace) -> int:
    """Run policies on a finished screen, print a table, and write hits.csv and hits.png."""
    settings = parsed_settings(given.set, bool(given.policy))
    if settings and len(given.policy) > 1:
        raise ValueError("--set is for one --policy; run replay once for each policy that has settings of its own.")
    choices = [Choice(name, settings, not given.no_scale) for name in given.policy or [SCREEN_POLICY, "random"]]
    _refuse_two_hits(given.hit, choices, given.aim)
    if (folder := Path(given.out)).is_file():
        raise ValueError(f"{folder} is a file; name a folder by --out.")
    for path in (Path(given.features), Path(given.screen)):
        if path.exists() and path.resolve() in [(folder / name).resolve() for name in ("hits.csv", "hits.png")]:
            raise ValueError(f"{path} is read, and would be overwritten; name another folder by --out.")
    notes: list[str] = []
    features = read_features(given.features, notes, given.phenotype, given.words)
    phenotypes = _phenotypes(given.screen, given, features.names, notes, {}, None)
    measured = [i for i, gene in enumerate(features.names) if not math.isnan(phenotypes.get(gene, math.nan))]
    if (n := len(measured)) < 2:
        raise ValueError(f"{given.screen} has {n} genes with a phenotype; a replay needs a finished screen.")
    if len(measured) < len(features.names):
        notes.append(f"{len(features.names) - len(measured)} genes without a phenotype are left out.")
    for line in notes:
        print(f"note: {line}")
    rewards = np.array([reward(phenotypes[features.names[i]], given.aim) for i in measured], dtype=np.float64)
    threshold = None if given.hit is None else reward(given.hit, given.aim)
    hits = hits_of(rewards, given.top, threshold, given.aim)
    aimed = [choice.aimed_at(share=given.top if given.hit is None else None, threshold=threshold) for choice in choices]
    scores = features.scores(given.components)[measured]
    said = "\r{}: batch {}        ".format
    progress = (lambda *at: print(said(*at), end="", file=sys.stderr)) if sys.stderr.isatty() else None
    sizes = {name: getattr(given, name) for name in ("batch", "rounds", "runs", "seed")}
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)  # or it is refused before hours of computing
    try:
        table = replay(aimed, scores, rewards, hits, progress=progress, **sizes)
    except ValueError:
        folder.rmdir() if is_new else None
        raise
    print(f"{int(hits.sum())} of {len(rewards)} genes are hits; mean hits [95% interval] of {given.runs} runs:")
    last = int(table["x"].max())
    marks = sorted({max(1, last // 4), max(1, last // 2), last})
    print(summary(table, marks, given.batch, len(rewards)).to_string(index=False))
    single = chance(len(rewards), int(hits.sum()), given.batch, last).iloc[-1]
    print(f"a single run of random batches ends with {single['low']:.0f} to {single['high']:.0f} hits (95%)")
    write_atomically(folder / "hits.csv", table.to_csv(index=False, float_format="%.6g", lineterminator="\n").encode())
    try:
        from bestarm.search.replay_figure import DPI, hits_figure
    except ImportError as error:
        print(f"table: {folder / 'hits.csv'}; no figure ({error}): pip install 'bestarm[plot]'")
        return 0
    hits_figure(table, int(hits.sum()), given.batch).savefig(folder / "hits.png", dpi=DPI, metadata={"Software": None})
    print(f"table: {folder / 'hits.csv'}, figure: {folder / 'hits.png'}")
    return 0


def run_report(given: argparse.Namespace) -> int:
    """Write the report of a saved search, or of a campaign."""
    from bestarm.search.search import Search

    path = Path(os.path.realpath(given.search))  # a folder may be called "."
    out = Path(given.out or (f"{path}.html" if path.is_dir() else path.with_suffix(".html")))
    (Campaign(path).search() if path.is_dir() else Search.load(path)).report(out)
    print(f"report: {out}")
    return 0
