import hashlib
import shutil
import subprocess
from zipfile import ZipFile

import pytest

from bertshift.errors import UserError
from bertshift.release import archive

FILES = {"results/rsa/a_vs_b.tsv": b"value\n0.5\n", "README.md": b"What this is.\n" * 40, "config/ä.yaml": b"scale: demo\n"}  # fmt: skip


@pytest.fixture
def path(tmp_path):
    archive.write(tmp_path / "run.zip", FILES)
    return tmp_path / "run.zip"


def rewritten(path, change):
    """The archive with other files, below the same SHA256SUMS."""
    with ZipFile(path) as old:
        files = {name: old.read(name) for name in old.namelist()}
    change(files)
    with ZipFile(path, "w") as new:
        for name, content in files.items():
            new.writestr(name, content)


def damages(path):
    with archive.opened(path) as opened:
        return archive.damages(opened)


def test_the_checksums_are_those_of_the_files(path, tmp_path):
    with ZipFile(path) as written:
        lines = written.read("SHA256SUMS").decode().splitlines()
        written.extractall(tmp_path / "here")
    assert lines == [
        f"{hashlib.sha256(FILES[name]).hexdigest()}  {name}" for name in sorted(FILES)
    ]
    assert not damages(path)
    if shutil.which("sha256sum"):
        subprocess.run(
            ["sha256sum", "--strict", "-c", "SHA256SUMS"], cwd=tmp_path / "here", check=True
        )


def test_the_same_files_are_the_same_bytes(path, tmp_path):
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    archive.write(tmp_path / "again.zip", {name: tmp_path / name for name in reversed(FILES)})
    assert (tmp_path / "again.zip").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda files: files.update({"README.md": b"Another."}), "README.md is damaged: its digest is not the one"),
        (lambda files: files.pop("results/rsa/a_vs_b.tsv"), "results/rsa/a_vs_b.tsv is missing."),
        (lambda files: files.update({"results/new.tsv": b"1"}), "results/new.tsv does not belong there"),
    ],
)  # fmt: skip
def test_a_file_that_was_changed_lost_or_added_is_named(path, change, said):
    rewritten(path, change)
    [found] = damages(path)
    assert found.startswith(said)


def test_a_file_that_does_not_unpack_is_damaged(path):
    content = bytearray(path.read_bytes())
    with ZipFile(path) as whole:
        start = whole.getinfo("README.md").header_offset + 30 + len("README.md")
    content[start + 4] ^= 0xFF
    path.write_bytes(content)
    assert [said.split(":")[0] for said in damages(path)] == ["README.md is damaged"]


def test_what_is_no_archive_is_a_sentence(tmp_path):
    (tmp_path / "text.zip").write_text("no archive")
    with ZipFile(tmp_path / "other.zip", "w") as other:
        other.writestr("a", "b")
    with ZipFile(tmp_path / "sums.zip", "w") as other:
        other.writestr("SHA256SUMS", b"\xff  a\n")
    (tmp_path / "folder.zip").mkdir()
    for name, said in (
        ("text", "is not a ZIP file"),
        ("other", "has no SHA256SUMS"),
        ("absent", "there is no file"),
        ("folder", r"cannot be read \(Is a directory\); name an archive"),
        ("sums", "SHA256SUMS is not text"),
    ):
        with pytest.raises(UserError, match=said):
            damages(tmp_path / f"{name}.zip")
