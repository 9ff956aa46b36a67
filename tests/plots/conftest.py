from functools import cache

import pytest
import yaml
from made_papers import world
from made_tables import FOLDER

from bertshift.plots import catalogue


@pytest.fixture(scope="session")
def made():
    return world


@pytest.fixture(scope="session")
def published():
    return {
        path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.yaml"))
    }


@pytest.fixture(scope="session")
def drawn_at(published):
    """(layers, heads) -> {figure: (figure, table)}, drawn once."""

    @cache
    def draw(layers, heads):
        inputs = world(layers, heads)
        return {
            name: catalogue.draw(name, tables, published[name.split("/")[0]])
            for name, tables in inputs.items()
        }

    return draw
