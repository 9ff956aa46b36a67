"""What a job takes to begin: a fork of a process that has imported the library, against a Python
of its own.

    PYTHONPATH=workflow python benchmarks/job_starts.py [--rounds 7]

Each job imports what fine-tuning does and ends. Rounds alternate, as a shared machine is not
equally fast all the time; the ratio is the median over rounds.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from bertshift.running import warm

SCRIPT = """
from bertshift.running.warm import hand_over
hand_over()
import bertshift.training.finetuning
"""


def time_job(script, environment):
    start = time.perf_counter()
    subprocess.run([sys.executable, script], check=True, env=environment)
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    without_server = dict(os.environ)
    server = warm.start()  # adds its address to os.environ
    ratios = []
    with TemporaryDirectory() as folder:
        script = Path(folder) / "job.py"
        script.write_text(SCRIPT)
        import_seconds = sum(time_job(script, os.environ) for _ in range(warm.ENOUGH))
        print(f"the first {warm.ENOUGH}, with the import: {import_seconds:.2f} s")
        for _ in range(rounds):
            python = time_job(script, without_server)
            fork = time_job(script, os.environ)
            ratios.append(python / fork)
            print(f"own Python {python:.2f} s, fork {fork:.3f} s, ratio {ratios[-1]:.0f}")
    print(f"median ratio {statistics.median(ratios):.0f}")
    server.stdin.close()


if __name__ == "__main__":
    main()
