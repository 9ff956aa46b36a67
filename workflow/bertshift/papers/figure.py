"""One figure of a paper: title, tables, caption."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Figure:
    """One figure of a paper.

    `tables` names the TSVs that the figure reads, given its entry in the configuration. `shows`
    begins its caption. `drawn_by` names the paper's module that draws it and, behind a dot, the
    function there; by default the module has the figure's own name and the function is `draw`.
    `arguments` are its further arguments, after the tables and the paper's numbers. `lacking`
    returns a phrase on why a model, given the configuration, cannot be drawn, or nothing.
    """

    title: str
    tables: Callable[[Mapping], list[str]]
    shows: str
    drawn_by: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)
    lacking: Callable[[str, Mapping], str] | None = None
