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
    for memory in ("_known", "_used"):
        monkeypatch.setattr(codegraph, memory, {})

    def after(edits):
        for name, text in edits.items():
            (tmp_path / name).write_text(text)
        codegraph._read.cache_clear()
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


def test_what_was_read_once_is_not_parsed_again(digest, tmp_path, monkeypatch):
    file, parsed, parse = tmp_path / "code.json", [], codegraph._parsed
    monkeypatch.setattr(
        codegraph, "_parsed", lambda source, path: parsed.append(path.name) or parse(source, path)
    )
    file.write_text("{half a file")
    codegraph.recall(file)
    before = digest({})
    codegraph.keep(file)
    assert len(parsed) == len(FILES) - 1  # other.py is not imported

    parsed.clear()
    codegraph._known.clear()
    codegraph.recall(file)
    assert digest({}) == before and parsed == []
    assert digest({"pkg/used.py": "def f():\n    return 2\n"}) != before and parsed == ["used.py"]
    written = file.stat().st_mtime_ns
    assert digest({"pkg/used.py": FILES["pkg/used.py"]}) == before
    assert file.stat().st_mtime_ns == written
