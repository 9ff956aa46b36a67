"""The guides as a site: `make site` finds no link that leads nowhere, and neither does a
reader."""

import re
import subprocess
import sys

import pytest
from conftest import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def test_every_guide_is_there_and_every_link_leads_somewhere(site):
    guides = [ROOT / "README.md", ROOT / "config/README.md", *(ROOT / "docs").glob("*.md")]
    for guide in guides:
        page = (
            guide.relative_to(ROOT)
            .with_name(guide.name.replace("README", "index"))
            .with_suffix(".html")
        )
        assert (site / page).is_file()
    for page in site.rglob("*.html"):
        for target in re.findall(
            r'(?:href|src)="([^"#?:]+)["#?]', page.read_text(encoding="utf-8")
        ):
            assert target.startswith("/") or (page.parent / target).exists(), (page.name, target)
