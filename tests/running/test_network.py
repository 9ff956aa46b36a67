"""Sockets are asked for, none is opened: addresses are of example.invalid, which no network has."""

import socket
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from bertshift.errors import UserError
from bertshift.running import network

SENTENCE = r"this job asked for {}, but only those that download may; run 'snakemake data/all'"


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")


def test_another_machine_is_refused_by_name():
    before = socket.getaddrinfo, socket.socket.connect
    with network.as_allowed():
        with pytest.raises(UserError, match=SENTENCE.format("hub.example.invalid")):
            urllib.request.build_opener().open("https://hub.example.invalid/bert")
        with (
            pytest.raises(UserError, match=SENTENCE.format("203.0.113.1")),
            socket.socket() as one,
        ):
            one.connect(("203.0.113.1", 443))
    assert (socket.getaddrinfo, socket.socket.connect) == before


def test_this_machine_is_not():
    with network.as_allowed(), HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        with socket.create_connection(("localhost", server.server_port)) as one:
            one.sendall(b"GET / HTTP/1.0\r\n\r\n")
            assert one.recv(10).startswith(b"HTTP")
        thread.join()


def test_what_downloads_is_allowed_to(monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *_, **__: (_ for _ in ()).throw(OSError(host)))
    network.allow(True)
    with network.as_allowed(), pytest.raises(OSError, match="hub.example.invalid"):
        socket.create_connection(("hub.example.invalid", 443))
