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


def parquet_file(
    columns: Mapping[str, list] | pa.Table, row_group_size: int | None = None
) -> bytes:
    sink = io.BytesIO()
    table = columns if isinstance(columns, pa.Table) else pa.table(dict(columns))
    parquet.write_table(table, sink, row_group_size=row_group_size)
    return sink.getvalue()


class SmallHub:
    """`repositories` maps an id to {path: content}, its commit REVISION; `faults` an id to what is
    wrong with its data files. `pages` are files at addresses of their own, by path.

    Faults: drop (the connection breaks midway), drop once (in the first answer only), html (a page
    with status 200), error (status 500), flipped (one bit differs).
    """

    def __init__(
        self,
        repositories: Mapping[str, Mapping[str, bytes]],
        faults: Mapping[str, str] | None = None,
        port: int = 0,
    ):
        self.commits = {
            repository: {REVISION: files} for repository, files in repositories.items()
        }
        self.branches = {repository: {"main": REVISION} for repository in repositories}
        self.faults, self.requests = faults or {}, Counter()
        self.pages: dict[str, bytes] = {}
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 10

            def do_HEAD(self):
                hub.answer(self, body=False)

            def do_GET(self):
                hub.answer(self, body=True)

            def do_POST(self):
                self.posted = self.rfile.read(int(self.headers["Content-Length"]))
                hub.answer(self, body=True)

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
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
        """A new newest commit: what `branch` is from now on."""
        self.commits.setdefault(repository, {})[commit] = files
        self.branches.setdefault(repository, {})[branch] = commit

    def answer(self, request, body: bool) -> None:
        path = request.path.partition("?")[0]
        if path in self.pages:
            return self.send(request, 200, self.pages[path], {}, body)
        resolve = re.fullmatch(r"/(?:datasets/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        api = re.fullmatch(
            r"/api/(?:datasets|models)/([^/]+/[^/]+)/(revision|tree|paths-info)/([^/]+)/?(.*)",
            path,
        )
        repository, revision = (
            (resolve or api).group(1, 2 if resolve else 3) if resolve or api else (None, None)
        )
        if repository not in self.commits:
            return self.send(request, 404, b"{}", {"X-Error-Code": "RepoNotFound"}, body)
        if revision == BUSY:
            return self.send(request, 500, b"", {}, body)
        revision = self.branches[repository].get(unquote(revision), revision)
        if revision not in self.commits[repository]:
            return self.send(request, 404, b"{}", {"X-Error-Code": "RevisionNotFound"}, body)
        if resolve:
            return self.send_file(request, repository, revision, resolve[3], body)
        return self.send_listing(request, repository, revision, api[2], api[4], body)

    def send_listing(self, request, repository, revision, what, folder, body):
        files = self.commits[repository][revision]
        if what == "revision":
            siblings = [{"rfilename": path} for path in files]
            answer = {
                "_id": "0",
                "id": repository,
                "sha": revision,
                "siblings": siblings,
                "private": False,
            }
        elif what == "paths-info":
            asked = parse_qs(request.posted.decode())["paths"]
            answer = [_entry(path, files[path]) for path in asked if path in files]
        else:
            inside = [path for path in files if path.startswith(folder)]
            folders = {path.rpartition("/")[0] for path in inside} - {"", folder}
            answer = [
                {"type": "directory", "path": path, "oid": "0", "size": 0}
                for path in sorted(folders)
            ]
            answer += [_entry(path, files[path]) for path in inside]
        self.send(
            request, 200, json.dumps(answer).encode(), {"Content-Type": "application/json"}, body
        )

    def send_file(self, request, repository, revision, path, body):
        content = self.commits[repository][revision].get(path)
        if content is None:
            return self.send(request, 404, b"", {"X-Error-Code": "EntryNotFound"}, body)
        headers = {
            "X-Repo-Commit": revision,
            "ETag": f'"{hashlib.sha256(content).hexdigest()}"',
            "Accept-Ranges": "bytes",
        }
        fault = self.faults.get(repository) if path.endswith(".parquet") and body else None
        self.requests[repository, path] += body
        if fault == "drop once":
            fault = "drop" if self.requests[repository, path] == 1 else None
        if fault == "error":
            return self.send(request, 500, b"", {}, body)
        if fault == "html":
            return self.send(request, 200, b"<!DOCTYPE html><html>Sign in</html>", headers, body)
        if fault == "flipped":
            content = content[:100] + bytes([content[100] ^ 1]) + content[101:]
        status = 200
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("Range", ""))
        if wanted and body:
            first, last = int(wanted[1]), int(wanted[2] or len(content) - 1)
            headers["Content-Range"] = (
                f"bytes {first}-{min(last, len(content) - 1)}/{len(content)}"
            )
            status, content = 206, content[first : last + 1]
        if fault == "drop":
            request.close_connection = True
            self.send(
                request,
                status,
                content[: len(content) // 2],
                headers,
                body,
                announced=len(content),
            )
        else:
            self.send(request, status, content, headers, body)

    def send(self, request, status, content, headers, body, announced=None):
        request.send_response(status)
        for key, value in headers.items():
            request.send_header(key, value)
        request.send_header(
            "Content-Length", str(len(content) if announced is None else announced)
        )
        request.end_headers()
        if body:
            request.wfile.write(content)


def _entry(path: str, content: bytes) -> dict:
    sha = hashlib.sha256(content).hexdigest()
    entry = {"type": "file", "path": path, "oid": sha[:40], "size": len(content)}
    if path.endswith(".parquet"):
        entry["lfs"] = {"oid": sha, "size": len(content), "pointerSize": 134}
    return entry
