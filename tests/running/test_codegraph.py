import pytest

from bertshift.errors import UserError
from bertshift.running import codegraph

FILES = {
    "pkg/__init__.py": "",
    "pkg/used.py": "from pkg.deep import inner\n\n\ndef f():\n    return inner.x\n",
    "pkg/deep/__init__.py": "y = 1\n",
    "pkg/deep/inner.py": "x = 1\n",
    "pkg/other.py": "z = 1\n",
    "script.py": "import json\n\nfrom pkg import used\n",
    "words.yaml": "nouns: [cat, dog]\n",
}


@pytest.fixture
def digest(tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(codegraph, "LIBRARY", tmp_path)
    monkeypatch.setattr(codegraph, "PACKAGES", ["pkg"])
    monkeypatch.setattr(codegraph, "CACHE", "code.json")
    for memory in ("_cached", "_used", "_modules"):
        monkeypatch.setattr(codegraph, memory, {})

    def after(edits):
        for name, text in edits.items():
            (tmp_path / name).write_text(text)
        codegraph._modules.clear()
        return codegraph.digest([tmp_path / "script.py", tmp_path / "words.yaml"])

    return after


@pytest.mark.parametrize(
    "name", ["script.py", "pkg/used.py", "pkg/deep/__init__.py", "pkg/deep/inner.py"]
)
def test_an_edit_of_anything_imported_counts(digest, name):
    assert digest({}) != digest({name: FILES[name] + "added = 2\n"})


def test_data_count_by_what_they_say(digest):
    before = digest({})
    assert before == digest({"words.yaml": "# all of them\nnouns:\n- cat\n- 'dog'\n"})
    assert before != digest({"words.yaml": "nouns: [dog, cat]\n"})


def test_other_modules_comments_docstrings_and_layout_do_not(digest):
    before = digest({})
    assert before == digest({"pkg/other.py": "z = 2\n"})
    assert before == digest(
        {"pkg/used.py": '"""Why."""\n# how\n' + FILES["pkg/used.py"].replace("\n\n\n", "\n\n")}
    )


@pytest.mark.parametrize(
    "told",
    [
        "raise ValueError('{}')",
        "print('{}', file=sys.stderr)",
        "log.warning('{}')",
        "progress.tell('{}')",
    ],
)
def test_what_users_are_told_does_not_count(digest, told):
    text = FILES["pkg/used.py"] + f"\n\ndef g():\n    {told}\n"
    assert digest({"pkg/used.py": text.format("a message")}) == digest(
        {"pkg/used.py": text.format("another")}
    )


@pytest.mark.parametrize("kept", ["print('{}', file=table)", "x = log.warning('{}')", "f('{}')"])
def test_what_may_be_kept_counts(digest, kept):
    text = FILES["pkg/used.py"] + f"\n\ndef g():\n    {kept}\n"
    assert digest({"pkg/used.py": text.format("a number")}) != digest(
        {"pkg/used.py": text.format("another")}
    )


# Python 3.12 adds type parameters to what is defined, and empty texts to f-strings; 3.13 leaves
# empty fields out; letters are known since different versions.
OF_ALL_VERSIONS = """
class Shape(Base):
    @property
    def size(self, *rest, key=None) -> str:
        return f"{self.n:>{width}} of {len(rest)!r:.{digits}f}{{}}"


def f(x, /):
    match x:
        case [1, *_] | {"k": None}:
            yield from (y async for y in x)
    return lambda: {**x, "\U0001fae8": ...}
"""


def test_the_digest_is_the_same_in_all_versions_of_python(tmp_path):
    [digest, names] = codegraph._parse_module(OF_ALL_VERSIONS.encode(), tmp_path / "a.py")
    assert digest[:12] == "4065fec8fb14" and not names


DAMAGED = [
    "{half a file",
    "[]",
    "\xff",
    '{"%s": {"key": 1}}',
    '{"%s": {"key": [1, "x"]}}',
]


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_memory_counts_as_none(digest, tmp_path, text):
    before = digest({})
    memory = tmp_path / "code.json"
    memory.write_bytes(text.replace("%s", codegraph.METHOD).encode("latin-1"))
    codegraph.recall(tmp_path)
    assert codegraph._cached == {} and digest({}) == before


def test_a_module_that_is_not_there_is_named(digest, tmp_path):
    with pytest.raises(
        UserError, match=r"metrics/new\.py does not exist; write this module, or correct its name"
    ):
        codegraph.digest([tmp_path / "script.py", tmp_path / "metrics/new.py"])
