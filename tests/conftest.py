import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder with real data in the publishers' layouts; tests on real input skip where there is none."""
    folder = Path(os.environ.get("BERTSHIFT_MIRROR", ROOT.parent / "shared" / "data"))
    if not (folder / "glue").is_dir():
        pytest.skip("no mirror of real data: set BERTSHIFT_MIRROR to a folder that holds glue/, squad/, ...")
    return folder
