"""A reader's own files of claims, which replace those of the program.

A paper has two: `published.yaml` has its statements and numbers, `claims.py` has the number of
ours that decides each.
"""

import importlib.util
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bertshift.config import read_yaml
from bertshift.errors import UserError
from bertshift.papers.by_name import claims_of
from bertshift.papers.catalogue import PAPERS
from bertshift.requests.figures import PUBLISHED
from bertshift.verdicts.deciding import Claims
from bertshift.verdicts.statements import check

COPIES = f"of {PUBLISHED.format(paper='<paper>')} or of the claims.py beside it"


@dataclass(frozen=True)
class Papers:
    """The claims to decide and the paper's file for each: a reader's own, by paper, or else the
    program's."""

    files: Mapping[str, Path] = field(default_factory=dict)
    decided: Mapping[str, Claims] = field(default_factory=dict)

    def published(self, paper: str) -> Path:
        return self.files.get(paper, Path(PUBLISHED.format(paper=paper)))

    def claims(self, paper: str) -> Claims:
        return self.decided.get(paper) or claims_of(paper)


PROGRAMS = Papers()


def read(paths: Iterable[Path]) -> Papers:
    """Read copies of `published.yaml` and `claims.py` that a reader has changed; each names its
    paper. UserError where one cannot be read, or where the two do not fit."""
    files, decided = {}, {}
    for path in paths:
        if path.suffix not in (".py", ".yaml") or not path.is_file():
            raise UserError(f"{path} is not a file of claims; name a changed copy {COPIES}.")
        if path.suffix == ".py":
            claims = _run_claims(path)
            _check_paper(claims.paper, path)
            decided[claims.paper] = claims
        else:
            files[_find_paper(path)] = path
    papers = Papers(files, decided)
    for paper in {*files, *decided}:
        _check_claims(papers, paper)
    return papers


def _check_paper(paper: object, path: Path) -> None:
    if paper not in PAPERS:
        raise UserError(
            f"{path} is of no paper of this program, '{paper}'; write one of {', '.join(PAPERS)}."
        )


def _find_paper(path: Path) -> str:
    """Return the paper of a `published.yaml`, which must have every part that figures read."""
    content = read_yaml(path)
    header = content.get("paper")
    paper = header.get("key") if isinstance(header, dict) else None
    _check_paper(paper, path)
    shipped = PROGRAMS.published(paper)
    missing = [key for key in read_yaml(shipped) if key not in content]
    if missing:
        raise UserError(f"{path} lacks {', '.join(missing)}; begin with a copy of {shipped}.")
    return paper


def _run_claims(path: Path) -> Claims:
    """Run a `claims.py` and return its CLAIMS."""
    spec = importlib.util.spec_from_file_location(f"claims of {path}", path)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UserError(
            f"{path} does not run ({type(error).__name__}: {error}); mend it."
        ) from error
    if not isinstance(getattr(module, "CLAIMS", None), Claims):
        raise UserError(f"{path} has no CLAIMS; begin with a copy {COPIES}.")
    return module.CLAIMS


def _check_claims(papers: Papers, paper: str) -> None:
    """Check that the paper's file states each claim that is decided and no other, and that the
    figures of the claims exist."""
    file, claims = papers.published(paper), papers.claims(paper)
    check(claims, read_yaml(file)["claims"], file)
    for claim in claims.all:
        if claim.item not in PAPERS[paper].FIGURES:
            raise UserError(
                f"claim {claim.id} is of {paper}/{claim.item}, which is not a figure; write one of"
                f" {', '.join(PAPERS[paper].FIGURES)}."
            )
