import os
import subprocess
import sys

import pytest
from conftest import ROOT

from bertshift.running.disk import Reader, next_files


def test_a_reader_gets_all_that_it_lacks_or_nothing():
    one, other = Reader({"a": 6, "b": 3}, False), Reader({"b": 3, "c": 5}, False)
    assert next_files([one, other], 14, False) == {"a", "b", "c"}
    assert next_files([one, other], 13, False) == {"b", "c"}
    assert next_files([one, other], 7, False) == set()
    assert next_files([one, other], 7, True) == {"b", "c"}


def test_readers_that_have_begun_go_first_and_nobody_overtakes_them():
    begun, small = Reader({"a": 6}, True), Reader({"b": 1}, False)
    assert next_files([small, begun], 7, False) == {"a", "b"}
    assert next_files([small, begun], 6, False) == {"a"}
    assert next_files([small, begun], 5, False) == set()


# Six readers of pairs that share a file, and one whose other input takes long: each file is 10 MB.
PROJECT = """
include: "{hooks}"


rule all:
    input:
        expand("read/{{n}}", n=range(7)),


rule late:
    output:
        "late",
    shell:
        "sleep 1; {late}"


rule make:
    input:
        lambda wildcards: "late" if wildcards.n == "6" else [],
    output:
        temp("dump/{{n}}"),
    resources:
        disk_mb=10,
    shell:
        "touch {{output}}; sleep 0.2; ls dump > seen/{{wildcards.n}}"


rule read:
    input:
        "dump/{{n}}",
        lambda wildcards: "dump/shared" if int(wildcards.n) < 6 else "dump/alone",
    output:
        "read/{{n}}",
    shell:
        "sleep 0.2; touch {{output}}"


know_rules()
"""


def run(folder, late, *options):
    (folder / "Snakefile").write_text(PROJECT.format(hooks=ROOT / "workflow/rules/hooks.smk", late=late))
    (folder / "seen").mkdir()
    command = [sys.executable, "-m", "snakemake", "all", "--cores", "16", *options]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "workflow")}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize(("limit", "files"), [(40, 4), (15, 2)])
def test_no_more_temporary_files_at_a_time_than_the_limit_allows(tmp_path, limit, files):
    """Seven files and the shared one can be made at once; one reader gets its two even where there is room for one."""
    done = run(tmp_path, "touch {output}", "--resources", f"disk_mb={limit}")
    assert done.returncode == 0, done.stderr
    seen = {path.name: path.read_text().split() for path in (tmp_path / "seen").iterdir()}
    assert len(seen) == 9 and max(map(len, seen.values())) <= files
    # Nothing is made for a reader that waits for something else.
    assert (tmp_path / "seen/alone").stat().st_mtime > (tmp_path / "late").stat().st_mtime


def test_a_run_ends_though_a_reader_waits_for_a_job_that_failed(tmp_path):
    done = run(tmp_path, "exit 1", "--keep-going", "--resources", "disk_mb=40")
    assert done.returncode == 1
    assert sorted(path.name for path in (tmp_path / "read").iterdir()) == list("012345")
    assert not (tmp_path / "seen/alone").exists()
