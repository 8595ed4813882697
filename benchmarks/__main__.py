"""Run every benchmark and print its table: ``python -m benchmarks``."""

from benchmarks import dpp_bbo, gpoo, gse, guards, oae, oae_engine, screens, structured_baselines, topm

if __name__ == "__main__":
    for subject in (guards, topm, gpoo, gse, structured_baselines, oae, oae_engine, dpp_bbo, screens):
        subject.main()
        print()
