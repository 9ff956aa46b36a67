import os
import subprocess
import sys

import pytest
from conftest import ROOT

from bertshift.running.redaction import redact

TOKEN = "hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"401 for {TOKEN}, sorry", "401 for [hidden], sorry"),
        ("{'Authorization': 'Bearer abc.def-ghi_12345'}", "{'Authorization': 'Bearer [hidden]'}"),
        ("authorization: Basic bWU6cGFzcw==", "authorization: Basic [hidden]"),
        ("proxy http://me:pass@proxy:80 failed", "proxy http://[hidden]@proxy:80 failed"),
        (
            "GET https://cdn.example/blob?X-Amz-Signature=0aef&X-Amz-Credential=me: 403",
            "GET https://cdn.example/blob?[hidden] 403",
        ),
        ("my password is opensesame1", "my password is [hidden]"),
        # Nothing secret: a path, a scheme, a setting, a question, a mail address.
        *(
            (text, text)
            for text in (
                "https://huggingface.co/a/b at true",
                "what? https://a.b/c.",
                "me@example.org",
                "basic knowledge of a bearer share",
            )
        ),
    ],
)
def test_secrets_are_hidden_and_nothing_else(monkeypatch, text, shown):
    monkeypatch.setenv("SITE_PASSWORD", "opensesame1")
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "a setting, not a token")
    monkeypatch.setenv("SHORT_TOKEN", "true")
    assert redact(text) == shown


SCRIPT = """
import logging, os, sys, warnings
from types import SimpleNamespace
from bertshift.running.jobs import job
with job(SimpleNamespace(threads=1, params={{}}, resources={{}}, log=r"{log}")):
    token = os.environ["HF_TOKEN"]
    print("asked with", token, file=sys.stderr)
    logging.warning("header %s", dict(authorization="Bearer " + token))
    warnings.warn("at https://user:" + token + "@hub/x")
    try:
        raise OSError("https://hub/x?token=" + token)
    except OSError as error:
        raise RuntimeError("after " + token) from error
"""


def test_no_log_holds_a_token(tmp_path):
    secret = "s3cret-of-another-form"
    log = tmp_path / "job.log"
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(log=log)],
        env={**os.environ, "HF_TOKEN": secret, "PYTHONPATH": str(ROOT / "workflow")},
        capture_output=True,
        text=True,
        check=False,
    )
    for text in (log.read_text(), done.stdout + done.stderr):
        assert (
            secret not in text
            and "RuntimeError: after [hidden]" in text
            and "asked with [hidden]" in text
        )
