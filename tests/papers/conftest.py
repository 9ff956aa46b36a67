import pytest

from bertshift.papers import by_name


@pytest.fixture(scope="session")
def decide(published):
    """decide("paper/figure", tables) -> the rows of its claims."""

    def decide(name, tables):
        paper = published[name.partition("/")[0]]
        return by_name.decide(name, tables, paper).set_index("claim")

    return decide


@pytest.fixture(scope="session")
def draw(published):
    """draw("paper/figure", tables) -> (figure, table, caption)."""

    def draw(name, tables):
        return by_name.draw(name, tables, published[name.partition("/")[0]])

    return draw
