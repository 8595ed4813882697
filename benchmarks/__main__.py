"""Run every benchmark and print its table: ``python -m benchmarks``."""

from benchmarks import gpoo, topm

if __name__ == "__main__":
    for subject in (topm, gpoo):
        subject.main()
        print()
