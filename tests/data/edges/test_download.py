"""Downloads from a server on localhost that misbehaves on purpose."""

import gzip
import hashlib
import io
import re
import tarfile
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import Request

import pytest
import yaml
from conftest import ROOT

from bertshift.config import read_catalogue
from bertshift.data.edges import archive, download
from bertshift.data.edges.archive import read_members
from bertshift.errors import UserError
from bertshift.files import read_json

CATALOGUE = read_catalogue(ROOT / "config/edges.yaml")
CONTENT = b"1\tword\n" * 10_000
PACKED = gzip.compress(bytes(range(256)) * 50)
FILES = {"corpus.txt": CONTENT, "corpus.tar.gz": PACKED}
# status, body, length that is announced
FAULTS = {
    "missing": (404, b"not here", 8),
    "forbidden": (403, b"no", 2),
    "busy": (503, b"later", 5),
    "dropped": (200, CONTENT[:5000], len(CONTENT)),
    "page": (200, b"\n<!DOCTYPE html><html>Sign in</html>", None),
    "empty": (200, b"", 0),
    "flipped": (200, CONTENT.replace(b"word", b"worm", 1), len(CONTENT)),
    "cut": (200, PACKED[:-30], None),
}


class Handler(BaseHTTPRequestHandler):
    timeout = 10

    def do_GET(self):
        name = self.path.partition("?")[0].strip("/")
        self.server.asked[name] += 1
        if name == "moved":
            return self.send(302, b"", 0, Location="/corpus.txt?token=secret")
        if name == "circle":
            return self.send(302, b"", 0, Location="/circle?token=secret")
        if name == "recovering" and self.server.asked[name] == 1:
            return self.send(*FAULTS["busy"])
        if name == "chunked":
            return self.send(200, b"1000\r\n" + CONTENT[:100], None, **{"Transfer-Encoding": "chunked"})
        content = FILES.get(name.rpartition("/")[2], CONTENT)
        return self.send(*FAULTS.get(name, (200, content, len(content))))

    def send(self, status, body, announced, **headers):
        self.send_response(status)
        for key, value in headers.items() | (
            {("Content-Length", str(announced))} if announced is not None else set()
        ):
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(download, "FIRST_WAIT", 0.0)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.asked, server.url = Counter(), f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.parametrize(("name", "requests"), [("corpus.txt", 1), ("moved", 1), ("recovering", 2)])
def test_the_file_arrives_whole(server, tmp_path, capsys, name, requests):
    path = tmp_path / "deep/down.txt"
    download.download(f"{server.url}/{name}?key=secret", path, hashlib.sha256(CONTENT).hexdigest())
    assert path.read_bytes() == CONTENT and server.asked[name] == requests
    printed = capsys.readouterr().err
    assert f"{server.url}/{name}: 0.1 MB, done" in printed and "secret" not in printed


def test_packed_files_need_no_checksum(server, tmp_path):
    download.download(f"{server.url}/corpus.tar.gz", tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == PACKED


@pytest.mark.parametrize(
    ("name", "requests", "message"),
    [
        ("missing", 1, r"missing cannot be had \(status 404\)"),
        ("forbidden", 1, r"forbidden cannot be had \(status 403\)"),
        ("circle", None, r"circle cannot be had \(status 302\)"),
        ("busy", 4, r"busy did not arrive in 4 attempts \(status 503\)"),
        ("dropped", 4, r"5000 of 70000 bytes came"),
        ("chunked", 4, "IncompleteRead"),
        ("page", 4, "a web page came in its place"),
        ("empty", 4, "an empty file came"),
        ("flipped", 4, "a file with the SHA-256 [0-9a-f]{64} came where "),
        ("cut", 4, "a damaged archive came"),
    ],
)
def test_faults_leave_a_sentence_and_nothing_else(server, tmp_path, capsys, name, requests, message):
    checksum = hashlib.sha256(CONTENT).hexdigest() if name == "flipped" else None
    with pytest.raises(UserError, match=message) as error:
        download.download(f"{server.url}/{name}?key=secret", tmp_path / "file", checksum)
    assert requests in (None, server.asked[name]) and not list(tmp_path.iterdir())
    assert "secret" not in str(error.value) + capsys.readouterr().err


def test_an_earlier_file_stays_where_no_server_answers(monkeypatch, tmp_path):
    monkeypatch.setattr(download, "FIRST_WAIT", 0.0)
    (tmp_path / "file").write_text("before")
    with pytest.raises(UserError, match=r"http://127.0.0.1:1/x did not arrive in 4 attempts \(.*refused"):
        download.download("http://127.0.0.1:1/x", tmp_path / "file")
    assert (tmp_path / "file").read_text() == "before"
    for url in ("file:///etc/hostname", "http://me:secret@127.0.0.1:1/x", "http://a.example/x"):
        with pytest.raises(UserError, match="is no plain web address") as error:
            download.download(url, tmp_path / "file")
        assert "secret" not in str(error.value)


def test_members_are_read_in_place(tmp_path):
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as tar:
        for name, kind in (("top/../../out.txt", tarfile.REGTYPE), ("top/link.txt", tarfile.SYMTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.size, info.linkname = kind, 2 * (kind == tarfile.REGTYPE), "/etc/hostname"
            tar.addfile(info, io.BytesIO(b"hi"))
    assert read_members(tmp_path / "a.tar.gz", re.compile(r"top/(.*)")) == {"../../out.txt": "hi"}
    assert [path.name for path in tmp_path.iterdir()] == ["a.tar.gz"]


def test_members_that_would_fill_the_memory_are_not_read(tmp_path, monkeypatch):
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as tar:
        for name in ("a.txt", "b.txt"):
            info = tarfile.TarInfo(name)
            info.size = 600
            tar.addfile(info, io.BytesIO(b" " * 600))
    assert read_members(tmp_path / "a.tar.gz", re.compile(r"(.*)")).keys() == {"a.txt", "b.txt"}
    monkeypatch.setattr(archive, "LARGEST", 1000)
    with pytest.raises(UserError, match=r"a.tar.gz holds more than .* delete it and fetch it again"):
        read_members(tmp_path / "a.tar.gz", re.compile(r"(.*)"))


def test_a_redirect_does_not_leave_https():
    ask = download._Redirects().redirect_request
    secure, plain = "https://a.example/file", "http://a.example/file"
    assert ask(Request(secure), None, 302, "", {}, secure + "2") and ask(
        Request(plain), None, 302, "", {}, plain + "2"
    )
    with pytest.raises(download._Fault, match="without https"):
        ask(Request(secure), None, 302, "", {}, plain)


def test_downloads_are_pinned_by_commit():
    pinned = re.compile(
        r"https://(raw\.githubusercontent\.com/[^/]+/[^/]+/[0-9a-f]{40}/.+|codeload\.github\.com/[^/]+/[^/]+/tar\.gz/[0-9a-f]{40})"
    )
    checksums = {}
    for name, spec in CATALOGUE.items():
        for part, each in spec.get("download", {}).items():
            assert pinned.fullmatch(each["url"]) and each.keys() <= {"url", "sha256"}, (name, part)
            assert checksums.setdefault(each["url"], each.get("sha256")) == each.get("sha256")
            assert part in spec["files"] or part == "skeletons"
    for scale in ("small", "paper"):
        tasks = yaml.safe_load((ROOT / f"config/scales/{scale}.yaml").read_text())["edge_tasks"]
        assert all("download" in CATALOGUE[name] for name in tasks.values())


SENTENCES = "".join(
    f'{n}\t"The <e1>door</e1> of <e2>house {n}</e2>."\nComponent-Whole(e1,e2)\nComment:\n\n'
    for n in range(40)
)


def test_the_workflow_downloads_what_no_mirror_has(server, copy_project, tmp_path, monkeypatch):
    monkeypatch.setitem(FILES, "TRAIN.TXT", SENTENCES.encode())
    monkeypatch.setitem(FILES, "TEST.TXT", SENTENCES.encode())
    project = copy_project()
    offered = {
        part: {"url": f"{server.url}/{'c' * 40}/{part.upper()}.TXT", "sha256": hashlib.sha256(SENTENCES.encode()).hexdigest()}
        for part in ("train", "test")
    }  # fmt: skip
    mine = {**CATALOGUE["semeval_relations"], "expected": None, "download": offered}
    project.config = {
        **project.config, "scale": "small", "edge_sets": {"mine": mine}, "edge_tasks": {"relations": "mine"},
    }  # fmt: skip
    project.snakemake("results/edges/relations/edges.json")
    sidecar = read_json(project.folder / "results/edges/relations/edges.json")
    places = [each["url"].removeprefix("http://") for each in offered.values()]
    assert sidecar["source"] == f"download:{','.join(sorted(places))}"
    assert sidecar["counts"]["test"]["targets"] == 40 and server.asked.total() == 2
    # A folder that holds the downloads is a mirror.
    moved = (project.folder / "results/corpora").rename(tmp_path / "mirror")
    project.config = {**project.config, "data": {"source": "mirror", "mirror": str(moved)}}
    project.snakemake("results/edges/relations/edges.json")
    assert read_json(project.folder / "results/edges/relations/edges.json")["source"].startswith(
        "mirror:127.0.0.1"
    )
    assert server.asked.total() == 2
