"""A hub on localhost: the endpoints that downloads of data sets and models ask for, and ways to
misbehave."""

import hashlib
import io
import json
import re
import threading
from collections import Counter
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote

import pyarrow as pa
from pyarrow import parquet

REVISION = "0123456789abcdef0123456789abcdef01234567"
BUSY = "5" * 40  # a revision for which every answer is status 500
ADDRESS = re.compile(
    r"(?:/api)?/(?:datasets/|models/)?([^/]+/[^/]+)"
    r"/(resolve|revision|tree|paths-info)/([^/]+)/?(.*)"
)


def parquet_file(columns: Mapping | pa.Table, row_group_size: int | None = None) -> bytes:
    sink = io.BytesIO()
    table = columns if isinstance(columns, pa.Table) else pa.table(dict(columns))
    parquet.write_table(table, sink, row_group_size=row_group_size)
    return sink.getvalue()


class SmallHub:
    """`repositories` maps an id to {path: content}, its commit REVISION; `faults` an id to what is
    wrong with its data files. `pages` are files at addresses of their own, by path.

    Faults: drop (the connection breaks midway), drop once (in the first answer only), flipped (one
    bit differs).
    """

    def __init__(
        self,
        repositories: Mapping[str, Mapping[str, bytes]],
        faults: Mapping[str, str] | None = None,
        port: int = 0,
    ):
        self.commits, self.branches = {}, {}
        for repository, files in repositories.items():
            self.push(repository, REVISION, files)
        self.faults, self.requests = faults or {}, Counter()
        self.pages: dict[str, bytes] = {}
        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads, self.server.hub = True, self
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *exception):
        self.server.shutdown()
        self.server.server_close()

    def push(
        self, repository: str, commit: str, files: Mapping[str, bytes], branch: str = "main"
    ) -> None:
        """Add a commit, the newest of `branch`."""
        self.commits.setdefault(repository, {})[commit] = files
        self.branches.setdefault(repository, {})[branch] = commit


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 10

    def do_GET(self):
        hub, path = self.server.hub, self.path.partition("?")[0]
        posted = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if path in hub.pages:
            return self.answer(200, hub.pages[path])
        match = ADDRESS.fullmatch(path)
        repository, endpoint, revision, rest = match.groups() if match else [None] * 4
        if repository not in hub.commits:
            return self.answer(404, b"{}", {"X-Error-Code": "RepoNotFound"})
        if revision == BUSY:
            return self.answer(500, b"")
        revision = hub.branches[repository].get(unquote(revision), revision)
        files = hub.commits[repository].get(revision)
        if files is None:
            return self.answer(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
        if endpoint == "resolve":
            return self.send_file(repository, revision, rest, files.get(rest))
        if endpoint == "revision":
            siblings = [{"rfilename": name} for name in files]
            listing = {"_id": "0", "id": repository, "sha": revision, "siblings": siblings}
            listing["private"] = False
        elif endpoint == "paths-info":
            names = parse_qs(posted.decode())["paths"]
            listing = [_describe(name, files[name]) for name in names if name in files]
        else:
            inside = {name: files[name] for name in files if name.startswith(rest)}
            folders = {name.rpartition("/")[0] for name in inside} - {"", rest}
            directory = {"type": "directory", "oid": "0", "size": 0}
            listing = [directory | {"path": name} for name in sorted(folders)]
            listing += [_describe(name, content) for name, content in inside.items()]
        return self.answer(200, json.dumps(listing).encode(), {"Content-Type": "application/json"})

    do_HEAD = do_POST = do_GET

    def send_file(self, repository, revision, path, content):
        if content is None:
            return self.answer(404, b"", {"X-Error-Code": "EntryNotFound"})
        hub, body = self.server.hub, self.command != "HEAD"
        headers = {
            "X-Repo-Commit": revision,
            "ETag": f'"{hashlib.sha256(content).hexdigest()}"',
            "Accept-Ranges": "bytes",
        }
        hub.requests[repository, path] += body
        fault = hub.faults.get(repository) if path.endswith(".parquet") and body else None
        if fault == "drop once":
            fault = "drop" if hub.requests[repository, path] == 1 else None
        if fault == "flipped":
            content = content[:100] + bytes([content[100] ^ 1]) + content[101:]
        status = 200
        part = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if part and body:
            first, last = int(part[1]), min(int(part[2] or len(content)), len(content) - 1)
            headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
            status, content = 206, content[first : last + 1]
        if fault == "drop":
            self.close_connection = True
            return self.answer(status, content, headers, len(content) // 2)
        return self.answer(status, content, headers)

    def answer(self, status, content, headers=(), sent=None):
        """Announce all of the content and send its first `sent` bytes."""
        self.send_response(status)
        for key, value in dict(headers).items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content[:sent])

    def log_message(self, *arguments):
        pass


def _describe(path: str, content: bytes) -> dict:
    sha = hashlib.sha256(content).hexdigest()
    entry = {"type": "file", "path": path, "oid": sha[:40], "size": len(content)}
    if path.endswith(".parquet"):
        entry["lfs"] = {"oid": sha, "size": len(content), "pointerSize": 134}
    return entry
