"""Whether a paper's file states what its claims decide."""

from collections.abc import Mapping
from pathlib import Path

from bertshift.errors import UserError
from bertshift.verdicts.deciding import Claims
from bertshift.verdicts.multiplicity import ALL, SOME


def check(claims: Claims, stated: Mapping, file: str | Path) -> None:
    """Raise UserError unless `stated`, the statements of `file` by their ids, are those that
    `claims` decide, and have all that a statement has."""
    decided = dict.fromkeys(one.id for one in claims.all)
    for claim in decided:
        if claim not in stated:
            raise UserError(
                f"{file} does not state claim {claim}, which is decided; add it below `claims`."
            )
        if lacking := [
            key for key in ("statement", "place", "strength") if key not in stated[claim]
        ]:
            raise UserError(f"{file}: claims.{claim} has no {lacking[0]}; write it.")
        if (over := stated[claim].get("over", ALL)) not in (ALL, SOME):
            raise UserError(f"{file}: claims.{claim}.over is '{over}'; write {ALL} or {SOME}.")
    if undecided := [claim for claim in stated if claim not in decided]:
        raise UserError(
            f"{file}: no number decides claims.{undecided[0]}; add one to the claims.py of this"
            " paper, or leave the claim out."
        )
