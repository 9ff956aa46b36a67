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

from bertshift.data import attempts
from bertshift.data.edges import archive, download
from bertshift.data.edges.archive import read_members
from bertshift.errors import UserError

CONTENT = b"1\tword\n" * 10_000
PACKED = gzip.compress(bytes(range(256)) * 50)
# status, body, length that is announced
ANSWERS = {
    "corpus.txt": (200, CONTENT, len(CONTENT)),
    "corpus.tar.gz": (200, PACKED, len(PACKED)),
    "moved": (302, b"", 0),
    "circle": (302, b"", 0),
    "missing": (404, b"not here", 8),
    "busy": (503, b"later", 5),
    "dropped": (200, CONTENT[:5000], len(CONTENT)),
    "chunked": (200, b"1000\r\n" + CONTENT[:100], None),
    "page": (200, b"\n<!DOCTYPE html><html>Sign in</html>", None),
    "empty": (200, b"", 0),
    "flipped": (200, CONTENT.replace(b"word", b"worm", 1), len(CONTENT)),
    "cut": (200, PACKED[:-30], None),
}
HEADERS = {
    "moved": ("Location", "/corpus.txt?token=secret"),
    "circle": ("Location", "/circle?token=secret"),
    "chunked": ("Transfer-Encoding", "chunked"),
}


class Handler(BaseHTTPRequestHandler):
    timeout = 10

    def do_GET(self):
        name = self.path.partition("?")[0].strip("/")
        self.server.requests[name] += 1
        if name == "recovering":
            name = "busy" if self.server.requests[name] == 1 else "corpus.txt"
        status, body, length = ANSWERS[name]
        self.send_response(status)
        if name in HEADERS:
            self.send_header(*HEADERS[name])
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(attempts, "FIRST_WAIT", 0.0)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.requests, server.url = Counter(), f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.parametrize(
    ("name", "requests"), [("corpus.txt", 1), ("moved", 1), ("recovering", 2)]
)
def test_the_file_arrives_complete(server, tmp_path, capsys, name, requests):
    path = tmp_path / "deep/down.txt"
    download.download(f"{server.url}/{name}?key=secret", path, hashlib.sha256(CONTENT).hexdigest())
    assert path.read_bytes() == CONTENT and server.requests[name] == requests
    assert "secret" not in capsys.readouterr().err
    download.download(f"{server.url}/corpus.tar.gz", path)  # a packed file needs no checksum
    assert path.read_bytes() == PACKED


@pytest.mark.parametrize(
    ("name", "requests", "message"),
    [
        ("missing", 1, "status 404"),
        ("circle", None, "status 302"),
        ("busy", 4, "in 4 attempts .status 503"),
        ("dropped", 4, "5000 of 70000 bytes came"),
        ("chunked", 4, "IncompleteRead"),
        ("page", 4, "a web page came"),
        ("empty", 4, "an empty file came"),
        ("flipped", 4, "a file with the SHA-256 [0-9a-f]{64} came"),
        ("cut", 4, "a damaged archive came"),
    ],
)
def test_faults_are_named_and_leave_nothing(server, tmp_path, capsys, name, requests, message):
    checksum = hashlib.sha256(CONTENT).hexdigest() if name == "flipped" else None
    with pytest.raises(UserError, match=message) as error:
        download.download(f"{server.url}/{name}?key=secret", tmp_path / "file", checksum)
    assert requests in (None, server.requests[name]) and not list(tmp_path.iterdir())
    assert "secret" not in str(error.value) + capsys.readouterr().err


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://127.0.0.1:1/x", "in 4 attempts .*refused"),
        ("file:///etc/hostname", "not a plain web address"),
        ("http://me:secret@127.0.0.1:1/x", "not a plain web address"),
        ("http://a.example/x", "not a plain web address"),
    ],
)
def test_an_earlier_file_stays_where_nothing_comes(monkeypatch, tmp_path, url, message):
    monkeypatch.setattr(attempts, "FIRST_WAIT", 0.0)
    (tmp_path / "file").write_text("before")
    with pytest.raises(UserError, match=message) as error:
        download.download(url, tmp_path / "file")
    assert (tmp_path / "file").read_text() == "before" and "secret" not in str(error.value)


def test_members_are_read_in_place_and_not_more_than_memory_holds(tmp_path, monkeypatch):
    packed = tmp_path / "a.tar.gz"
    with tarfile.open(packed, "w:gz") as tar:
        outside, link = tarfile.TarInfo("top/../../out.txt"), tarfile.TarInfo("top/link.txt")
        outside.size, link.type, link.linkname = 2, tarfile.SYMTYPE, "/etc/hostname"
        tar.addfile(outside, io.BytesIO(b"hi"))
        tar.addfile(link)
    members = re.compile(r"top/(.*)")
    assert read_members(packed, members) == {"../../out.txt": "hi"}
    assert [*tmp_path.iterdir()] == [packed]
    monkeypatch.setattr(archive, "LARGEST", 1)
    with pytest.raises(UserError, match="a.tar.gz holds more than"):
        read_members(packed, members)


def test_a_redirect_does_not_leave_https():
    redirect, plain = download._Redirects().redirect_request, "http://a.example/file"
    secure = Request("https://a.example/file")
    assert redirect(secure, None, 302, "", {}, "https://a.example/moved")
    assert redirect(Request(plain), None, 302, "", {}, "http://a.example/moved")
    with pytest.raises(download._Fault, match="without https"):
        redirect(secure, None, 302, "", {}, plain)
