from urllib.parse import unquote

from rocrate.rocrate import ROCrate

from bertshift.release.crate import METADATA, README, metadata

FILES = {README: 9, "configuration.yaml": 12, "results/rsa/mnli+rte@large_vs_large.tsv": 34, "results/figures/hao2020/figure1.png": 5}  # fmt: skip
RESULTS = list(FILES)[2:]
ABOUT = {"title": "What it does", "version": "1.2.3", "authors": "they", "license": "MIT", "snakemake": "9.0", "heading": "Results",
         "command": "snakemake figures/all", "finished": "2026-01-02T03:04:05+00:00"}  # fmt: skip


def test_a_run_of_the_workflow_made_the_results(tmp_path):
    """The crate names the run as the Workflow Run Crate profile asks, and the library for such
    crates reads it."""
    for name in [*FILES, "workflow/Snakefile"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    (tmp_path / METADATA).write_bytes(metadata(FILES, ["configuration.yaml"], RESULTS, ABOUT))
    crate = ROCrate(tmp_path)
    assert (
        crate.mainEntity["programmingLanguage"]["name"] == "Snakemake"
        and crate.mainEntity["version"] == "1.2.3"
    )
    assert {unquote(each.id) for each in crate.data_entities} == {*FILES, "workflow/Snakefile"}
    run = crate.get("#run")
    assert run.type == "CreateAction" and run["instrument"] is crate.mainEntity
    assert [unquote(each.id) for each in run["result"]] == RESULTS
    assert (
        crate.root_dataset["mentions"] is run
        and crate.root_dataset["datePublished"] == ABOUT["finished"]
    )
