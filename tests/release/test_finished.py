import pytest

from bertshift.errors import UserError
from bertshift.release import finished
from bertshift.release.contents import results
from bertshift.release.finished import made

HEADER = "Building DAG of jobs...\noutput_file\tdate\trule\tlog-file(s)\tstatus\tplan\n"


def summary(*rows):
    return HEADER + "".join(f"{name}\t-\trule\tlog\t{status}\t{plan}\n" for name, status, plan in rows)


FIGURE = ("results/figures/hao2020/figure1.png", "ok", "no update")
TABLE = ("results/rsa/rte_vs_base.tsv", "ok", "no update")


def test_the_files_of_a_finished_run():
    dump = ("results/activations/rte.npz", "removed temp file", "no update")
    assert made(summary(FIGURE, dump, TABLE)) == [FIGURE[0], TABLE[0]]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([TABLE, (FIGURE[0], "missing", "update pending")], f"not finished: {FIGURE[0]} is missing\\."),
        (
            [FIGURE, (TABLE[0], "params changed", "update pending")],
            rf"{TABLE[0]} is out of date \(params changed\)\.",
        ),
        (
            [(TABLE[0], "params changed", "update pending"), (FIGURE[0], "ok", "update pending")],
            f"{FIGURE[0]} is made from what will be made again, and so on for 2 files",
        ),
    ],
)
def test_a_run_that_is_not_finished_is_a_sentence(rows, said):
    with pytest.raises(UserError, match=said):
        made(summary(*rows))


def test_what_is_archived():
    kept = ["results/figures/index.html", FIGURE[0], TABLE[0], "results/rsa/rte_vs_base.blocks.npy", "results/claims.tsv"]  # fmt: skip
    left = ["results/world/glue/RTE/dev.tsv", "results/models/rte/init1_seed1/model.safetensors", "results/data/rte/train.jsonl",
            "results/ablation/rte.npz"]  # fmt: skip
    assert results(kept + left) == kept


def test_a_folder_without_the_program_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="there is no Snakefile in .*; make this run in a clone of its own"):
        finished.summary(["figures/all"])
