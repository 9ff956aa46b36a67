import pytest

from bertshift.errors import UserError
from bertshift.running.makers import check_all, check_leftovers, origins, places

# file: what it is made from, by the rule of the first letter; no rule makes files that begin with x.
READ = {
    "figure": ["scores", "dump"],
    "scores": ["dump"],
    "dump": ["data"],
    "data": ["xmirror"],
    "broken": ["model"],
    "broken2": ["data"],
    "table": ["dump", "broken2", "broken"],
}


def makers(file):
    return {file[0]} - {"x"}


def read(rule, file):
    if file.startswith("broken"):
        try:
            raise UserError(f"no such {READ[file][0]}")
        except UserError:
            raise RuntimeError("as Snakemake wraps it")  # noqa: B904 - so it does
    return READ[file]


def test_the_files_that_some_rules_make_on_the_way_to_one():
    assert origins("figure", {"d"}.__contains__, makers, read) == {"dump", "data"}


def test_all_that_is_missing_is_told_at_once():
    for find in (check_all, lambda files, *how: origins(files[0], {"d"}.__contains__, *how)):
        with pytest.raises(UserError, match="^no such data\nno such model$"):
            find(["table"], makers, read)


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("dump", "data was made under another .*: xmirror is missing"),
        ("broken", "broken was made .*: no such model"),
    ],
)
def test_what_a_rule_should_make_and_cannot_is_named_with_the_reason(tmp_path, monkeypatch, file, told):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=told):
        check_leftovers(["xnobody", file], makers, read)
    (tmp_path / "xmirror").touch()
    if file == "dump":
        check_leftovers([file], makers, read)


OUTPUTS = {
    "results/{kind}_{model}/init{init}{at}/config.json": False,
    "results/patterns/{model}.tsv": False,
    "results/fixed/README.txt": False,
    "results/patterns/sheet": True,
}


@pytest.mark.parametrize(
    ("path", "made", "folder"),
    [
        ("results/models_rte/init1/config.json", True, False),
        ("results/models_rte/init1", False, True),
        ("results/models_rte/init1/scores.json", False, False),
        ("results/models_rte/more/init1", False, False),
        ("results/patterns/rte.tsv", True, False),
        ("results/patterns/rte_tsv", False, False),
        ("results/patterns", False, False),
        ("results/patterns/sheet", True, True),
        ("results/fixed", False, False),
    ],
)
def test_what_jobs_make_and_the_folders_that_are_theirs_alone(path, made, folder):
    assert tuple(bool(is_one(path)) for is_one in places(OUTPUTS)) == (made, folder)
