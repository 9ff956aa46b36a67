"""From a name to a job: the files that it reads and the settings that it works by.

Each rule has one function here, of the configuration and the rule's wildcards, that returns a
Request. The function raises UserError, which says what to write instead, where a name cannot be
served. Nothing here knows Snakemake.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType


@dataclass(frozen=True)
class Request:
    """inputs: the files that the rule's script reads, by the script's names for them; settings:
    everything else that its output depends on, as values of JSON."""

    inputs: dict[str, str | list[str]] = field(default_factory=dict)
    settings: dict | list = field(default_factory=dict)

    def plus(self, files: Mapping = MappingProxyType({}), /, **settings) -> "Request":
        """Add files and settings, or replace those of the same names."""
        return replace(
            self, inputs={**self.inputs, **files}, settings={**self.settings, **settings}
        )
