import pytest

from bertshift.errors import UserError
from bertshift.running.makers import origins

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
    with pytest.raises(UserError, match="^no such data\nno such model$"):
        origins("table", {"d"}.__contains__, makers, read)
