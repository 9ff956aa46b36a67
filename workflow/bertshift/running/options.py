"""Options of snakemake under which results of another configuration could pass for this one's."""

import logging
from collections.abc import Collection, Mapping

from bertshift.errors import UserError

# The rules whose parameters and inputs tell all that their outputs hold: of others, --cache would take one's for another's.
SHARED = ["dataset", "checkpoint", "corpus", "vocabulary", "pretrain"]
NEEDED_TRIGGERS = {"mtime", "params", "input"}
PROVENANCE = "Some jobs were triggered by provenance information"


def advise(record: logging.LogRecord) -> bool:
    """Put what works here in the place of Snakemake's advice to use `--rerun-triggers mtime` or `--cleanup-metadata`:
    the one is refused, and what has no record is made again."""
    if str(record.msg).startswith(PROVENANCE):
        record.msg = (
            "Some jobs run again as what their results were made from has changed: see 'reason' above. To keep what is "
            "there instead, name it and call: snakemake --touch <outfile>"
        )
    return True


def check(allowed_rules: Collection[str], cached: Mapping[str, str], triggers: Collection[str]) -> None:
    """Raise UserError for what may not be asked for. cached: the names of rules in this workflow, by what the user
    calls them."""
    if allowed_rules:
        raise UserError(
            "--allowed-rules cannot tell what an input was made from; name files as targets instead."
        )
    if foreign := sorted(called for called, name in cached.items() if name not in SHARED):
        raise UserError(
            f"--cache cannot share what {' and '.join(foreign)} makes; name some of {', '.join(SHARED)}."
        )
    if missing := sorted(NEEDED_TRIGGERS.difference(triggers)):
        raise UserError(
            f"--rerun-triggers leaves out {' and '.join(missing)}: results of another configuration would pass for "
            "this one's. Leave the option away, or accept what is there with --touch."
        )
