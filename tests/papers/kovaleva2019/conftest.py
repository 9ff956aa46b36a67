import pytest


@pytest.fixture(scope="session")
def paper(published):
    return published["kovaleva2019"]
