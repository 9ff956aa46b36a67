import gzip
import ssl
import sys
import time
import zlib
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, build_opener

from bertshift.data.attempts import ATTEMPTS, count_attempts
from bertshift.data.text_file import is_web_page
from bertshift.errors import UserError
from bertshift.files import atomic
from bertshift.files import sha256 as digest

HERE = ("localhost", "127.0.0.1", "::1")
TIMEOUT = 60.0  # seconds without a byte
REPORT_EVERY = 5.0  # seconds
CHUNK = 1 << 18
# Statuses of temporary faults: a timeout, too many requests.
PASSING = (408, 429)


class _Fault(Exception):
    """An answer that is not the requested file."""


class _Redirects(HTTPRedirectHandler):
    def redirect_request(self, request, response, code, message, headers, url):
        if request.full_url.startswith("https:") and not url.startswith("https:"):
            raise _Fault("it leads to an address without https")
        return super().redirect_request(request, response, code, message, headers, url)


def download(url: str, path: Path, sha256: str | None = None) -> None:
    """Download the file at `url` to `path`, completely or not at all; check its SHA-256 if one is
    given.

    UserError for an address that the publisher does not have, and where `ATTEMPTS` attempts
    brought no connection, part of the file, a web page or another file. Only the given address is
    printed, without a password: redirects can carry secrets.
    """
    parts = urlsplit(url)
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    # The opener also opens files and FTP, and takes a password for a port.
    is_local = parts.scheme == "http" and parts.hostname in HERE
    if not (parts.scheme == "https" or is_local) or "@" in parts.netloc:
        raise UserError(
            f"{shown} is not a plain web address; write one with https:// under `download`."
        )
    for attempt in count_attempts():
        try:
            with atomic(path) as temporary:
                _receive_file(url, temporary, shown)
                _check_file(temporary, sha256)
            print(f"{shown}: {path.stat().st_size / 1e6:.1f} MB, done", file=sys.stderr)
            return
        except HTTPError as error:
            if error.code < 500 and error.code not in PASSING:
                raise UserError(
                    f"{shown} cannot be had (status {error.code}); correct `download` in"
                    " config/edges.yaml, or put the file into a mirror directory."
                ) from None
            fault = f"status {error.code}"
        except URLError as error:
            fault = str(error.reason)
        except (_Fault, HTTPException, ConnectionError, TimeoutError, ssl.SSLError) as error:
            fault = str(error) or type(error).__name__
        print(f"{shown}: attempt {attempt} of {ATTEMPTS} failed ({fault})", file=sys.stderr)
    raise UserError(
        f"{shown} did not arrive in {ATTEMPTS} attempts ({fault}); check the connection and try"
        " again, or put the file into a mirror directory."
    )


def _receive_file(url: str, path: Path, shown: str) -> None:
    received, reported = 0, time.monotonic()
    with build_opener(_Redirects).open(url, timeout=TIMEOUT) as response, open(path, "wb") as file:
        announced = response.headers.get("Content-Length")
        total = f" of {int(announced) / 1e6:.1f}" if announced else ""
        while chunk := response.read(CHUNK):
            file.write(chunk)
            received += len(chunk)
            if time.monotonic() - reported > REPORT_EVERY:
                reported = time.monotonic()
                print(f"{shown}: {received / 1e6:.1f}{total} MB", file=sys.stderr)
    # `read` with a size does not tell an early end from the end.
    if announced and received != int(announced):
        raise _Fault(f"{received} of {announced} bytes came")


def _check_file(path: Path, sha256: str | None) -> None:
    with open(path, "rb") as file:
        start = file.read(200)
    if not start:
        raise _Fault("an empty file came")
    if is_web_page(start):
        raise _Fault("a web page came in its place")
    if sha256:
        received = digest(path)
        if received != sha256:
            raise _Fault(f"a file with the SHA-256 {received} came where {sha256} is expected")
    elif start.startswith(b"\x1f\x8b"):
        # Archives made on request have no lasting SHA-256, and come without their length.
        _check_gzip(path)


def _check_gzip(path: Path) -> None:
    try:
        with gzip.open(path) as file:
            while file.read(CHUNK):
                pass
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise _Fault(f"a damaged archive came: {error}") from None
