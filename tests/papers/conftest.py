import pytest
from made_papers import world


@pytest.fixture(scope="session")
def made():
    return world
