from functools import cache

import pytest
from made_papers import ByFigure, world

from bertshift.papers import by_name


@pytest.fixture(scope="session")
def made():
    return world


@pytest.fixture(scope="session")
def drawn_at(published):
    """(layers, heads) -> {figure: (figure, table, caption)}, drawn once."""

    @cache
    def draw(layers, heads):
        inputs = world(layers, heads)
        return ByFigure(
            (name, by_name.draw(name, tables, published[name.split("/")[0]]))
            for name, tables in inputs.items()
        )

    return draw
