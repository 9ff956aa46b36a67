import inspect
import logging

import pytest
from snakemake.api import Workflow

from bertshift.errors import UserError
from bertshift.running import options

ALL = ["mtime", "params", "input", "software_env"]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (([], {}, ALL), None),
        (([], {"theirs_pretrain": "pretrain"}, ALL), None),
        ((["rsa"], {}, ALL), "--allowed-rules cannot tell what"),
        (
            ([], {"theirs_pretrain": "pretrain", "theirs_rsa": "rsa", "mdl": "mdl"}, ALL),
            "--cache cannot share what mdl and theirs_rsa makes",
        ),
        (([], {}, ["mtime"]), "--rerun-triggers leaves out input and params"),
    ],
)
def test_options_that_hide_what_an_output_was_made_from_are_refused(asked, told):
    if told is None:
        return options.check(*asked)
    with pytest.raises(UserError, match=told):
        options.check(*asked)


def test_what_snakemake_advises_and_we_refuse_is_not_advised():
    advice = inspect.getsource(Workflow.log_provenance_info)
    assert options.PROVENANCE in advice and "--rerun-triggers mtime" in advice
    for said in (f"{options.PROVENANCE}, ... use --rerun-triggers mtime", "Another line."):
        record = logging.makeLogRecord({"msg": said})
        assert options.advise(record) and "--rerun-triggers" not in record.msg
    assert record.msg == "Another line."
