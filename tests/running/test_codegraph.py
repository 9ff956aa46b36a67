import pytest

from bertshift.running import codegraph

FILES = {
    "pkg/__init__.py": "",
    "pkg/used.py": "from pkg.deep import inner\n\n\ndef f():\n    return inner.x\n",
    "pkg/deep/__init__.py": "y = 1\n",
    "pkg/deep/inner.py": "x = 1\n",
    "pkg/other.py": "z = 1\n",
    "script.py": "import json\n\nfrom pkg import used\n",
}


@pytest.fixture
def digest(tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(codegraph, "PACKAGE", tmp_path / "pkg")

    def after(edits):
        for name, text in edits.items():
            (tmp_path / name).write_text(text)
        for cached in (codegraph._tree, codegraph._meaning, codegraph._imports):
            cached.cache_clear()
        return codegraph.digest([tmp_path / "script.py"])

    return after


@pytest.mark.parametrize("name", ["script.py", "pkg/used.py", "pkg/deep/__init__.py", "pkg/deep/inner.py"])
def test_an_edit_of_anything_imported_counts(digest, name):
    assert digest({}) != digest({name: FILES[name] + "added = 2\n"})


def test_other_modules_comments_docstrings_and_layout_do_not(digest):
    before = digest({})
    assert before == digest({"pkg/other.py": "z = 2\n"})
    assert before == digest(
        {"pkg/used.py": '"""Why."""\n# how\n' + FILES["pkg/used.py"].replace("\n\n\n", "\n\n")}
    )
