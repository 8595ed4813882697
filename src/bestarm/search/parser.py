"""Options of the commands ``suggest``, ``replay`` and ``report``; imports nothing else, so that --help is quick."""

import argparse
import re
from importlib import import_module
from typing import Any

AIMS = ("high", "low", "both")
SCREEN_POLICY = "hits"  # of the command suggest, by the rule in docs/what_to_use.md


def add_commands(commands: Any) -> str:
    """Add the commands to a parser, and return what --help says of the environment: nothing."""
    suggest = commands.add_parser(
        "suggest",
        help="suggest the next batch of a screen",
        description="Suggest the next batch of genes from a table of features and one of measured phenotypes, write "
        "a plate map, and keep a log. Called again with the same files it gives the same batch, or with "
        "--pending one beside it.",
    )
    suggest.add_argument("features", help="CSV or Excel: a column gene, then features")
    suggest.add_argument("phenotypes", help="CSV: gene and phenotype, a row for each well, empty while it is to come")
    suggest.add_argument("--policy", metavar="NAME", help=f"policy, default {SCREEN_POLICY}; an unknown one lists all")
    suggest.add_argument("--campaign", metavar="FOLDER", help="the log, by default <phenotypes>_rounds beside the file")
    suggest.add_argument("--hit", type=float, help="phenotype from which a gene is a hit; default: best 5%% measured")
    suggest.add_argument("--plate", type=int, default=96, choices=[96, 384])
    suggest.add_argument("--keep-free", default="", metavar="WELLS", help="wells for controls, such as A01,H12")
    for name, meaning in {
        "--withdraw": "what waits will not be done: set it aside and suggest another batch",
        "--pending": "what waits is being measured: suggest a batch beside it",
        "--check": "make every batch anew from the log and compare",
    }.items():
        suggest.add_argument(name, action="store_true", help=meaning)
    _common(suggest)
    replay = commands.add_parser(
        "replay",
        help="run policies on a finished screen",
        description="Run policies on a finished screen and show hits against batches, beside the exact chance level.",
    )
    replay.add_argument("features", help="CSV or Excel: a column gene, then features")
    replay.add_argument("screen", help="CSV: columns gene and phenotype, a row for each well")
    replay.add_argument("--policy", action="append", default=[], metavar="NAME", help="may be given several times")
    replay.add_argument("--rounds", type=int, default=20)
    replay.add_argument("--runs", type=int, default=25)
    replay.add_argument("--top", type=share, default=0.05, help="share of the genes that are hits, such as 5%%")
    replay.add_argument("--hit", type=float, help="phenotype from which a gene is a hit, in place of --top")
    replay.add_argument("--out", default="replay", metavar="FOLDER", help="where hits.csv and hits.png are written")
    _common(replay)
    report = commands.add_parser(
        "report",
        help="write a page about a search",
        description="Write one HTML page about a search that was saved by Search.save, or a campaign of bestarm "
        "suggest as its last round knew it: its state, the next batch with its reasons, plots, the log. The page needs "
        "no network.",
    )
    report.add_argument(
        "search", metavar="STATE", help="what search.save wrote, such as search.zip, or the folder of a campaign"
    )
    report.add_argument("--out", metavar="FILE", help="default: STATE with the ending .html")
    for command in (suggest, replay, report):
        command.set_defaults(run=_run)
    return ""


def _run(given: argparse.Namespace) -> int:
    """Run a command; what is there and cannot be imported, or says how to install it, is refused in one line."""
    try:
        return int(getattr(import_module("bestarm.search.commands"), f"run_{given.command}")(given))
    except ImportError as error:
        if "pip install" in str(error):
            raise ValueError(f"{error}.") from error
        if error.name:
            raise
        what = f"{given.command} needs a package that cannot be imported here ({error})"
        raise ValueError(f"{what}; install it again: pip install 'bestarm[screens]'.") from error


def share(text: str) -> float:
    """Return a share that is written as 0.05 or as 5%; errors of the parser call it by this name."""
    return float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)


def _common(parser: argparse.ArgumentParser) -> None:
    parser._negative_number_matcher = re.compile(r"-\.?\d")  # -1e9 is a number, too, as in Python 3.14
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the policy")
    parser.add_argument("--no-scale", action="store_true", help="tell the policy phenotypes as they are")
    parser.add_argument("--aim", default="high", choices=AIMS, help="large, small, or both large and small phenotypes")
    parser.add_argument("--phenotype", default="", metavar="COLUMNS", help="columns of measurements, such as rep1,rep2")
    parser.add_argument(
        "--words", action="append", default=[], metavar="COLUMN", help="a feature whose texts are words, such as 1-2"
    )
    parser.add_argument(
        "--symbols", metavar="FILE", help="HGNC's table: a header, then outdated symbol, tab, approved symbol"
    )
    parser.add_argument("--components", type=int, default=0, help="principal components in place of the features")
    parser.add_argument("--seed", type=int, default=0)
