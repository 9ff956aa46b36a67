"""A check that a paper's file states the claims that are decided, and no others."""

from collections.abc import Mapping
from pathlib import Path

from bertshift.errors import UserError
from bertshift.verdicts.deciding import ALL, SOME, Claims


def check(claims: Claims, stated: Mapping, file: str | Path) -> None:
    """Raise UserError unless `stated`, the statements of `file` by their ids, are those that
    `claims` decide, and have all that a statement has."""
    decided = list(dict.fromkeys(claim.id for claim in claims.all))
    for id in decided:
        if id not in stated:
            raise UserError(
                f"{file} does not state claim {id}, which is decided; add it below `claims`."
            )
        for key in ("statement", "place", "strength"):
            if key not in stated[id]:
                raise UserError(f"{file}: claims.{id} has no {key}; write it.")
        over = stated[id].get("over", ALL)
        if over not in (ALL, SOME):
            raise UserError(f"{file}: claims.{id}.over is '{over}'; write {ALL} or {SOME}.")
    for id in stated:
        if id not in decided:
            raise UserError(
                f"{file}: no number decides claims.{id}; add one to the claims.py of this"
                " paper, or leave the claim out."
            )
