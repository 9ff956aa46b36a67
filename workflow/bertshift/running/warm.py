"""A warm start: one process imports the library once, and each job is a fork of it.

Importing torch and transformers takes four seconds of CPU time, more than most of the demo's jobs
compute.
"""

import gc
import importlib
import json
import os
import pkgutil
import runpy
import secrets
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import traceback
from contextlib import suppress
from pathlib import Path

import bertshift

# The hub's own libraries read these variables once, when they are imported.
OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE")
# In the environment of jobs: the address of the server and its Python.
VARIABLE = "BERTSHIFT_WARM"
# A fork has the number of threads that the server imported numpy and torch with.
THREADS = 1
# The import of the library takes longer than it saves for fewer scripts.
ENOUGH = 8
ALONE = {
    "OMP_NUM_THREADS": str(THREADS),
    "OPENBLAS_NUM_THREADS": str(THREADS),
    "MPLBACKEND": "agg",
    **dict.fromkeys(OFFLINE, "1"),
}


def start() -> subprocess.Popen:
    """Start the server and name it in this process's environment. It ends with this process."""
    address = f"bertshift-{os.getpid()}-{secrets.token_hex(4)}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("\0" + address)
        listener.listen(socket.SOMAXCONN)
        # Ctrl-C is for the jobs. A process starts with the blocked signals of the thread that
        # starts it.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            server = subprocess.Popen(
                [sys.executable, "-m", __name__, str(listener.fileno())],
                stdin=subprocess.PIPE,
                env=os.environ | ALONE,
                pass_fds=[listener.fileno()],
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    os.environ[VARIABLE] = json.dumps([address, sys.executable])
    return server


def hand_over() -> None:
    """Let a fork of the server run this process's script, and exit as it does. Return where there
    is no server."""
    if not os.environ.get(VARIABLE):
        return
    address, python = json.loads(os.environ[VARIABLE])
    if python != sys.executable:
        return
    # A signal that stops this process must stop the fork.
    waiting = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    with socket.socket(socket.AF_UNIX) as server, server.makefile() as answers:
        try:
            _send_script(server, address)
            fork = int(answers.readline())
        except (OSError, ValueError):
            signal.pthread_sigmask(signal.SIG_SETMASK, waiting)
            return
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the fork by itself
        signal.signal(signal.SIGTERM, lambda *_: os.kill(fork, signal.SIGTERM))
        signal.pthread_sigmask(signal.SIG_SETMASK, waiting)
        status = ""
        with suppress(OSError):
            status = answers.readline()
        os._exit(int(status or "1"))  # empty if a signal ended the fork


def _is_of_this_user(connected: socket.socket) -> bool:
    """Test whether the other end is a process of this user: every user can see an abstract
    socket, and connect to it."""
    credentials = struct.Struct("3i")  # process, user, group
    peer = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, credentials.size)
    _, user, _ = credentials.unpack(peer)
    return user == os.getuid()


def _send_script(server: socket.socket, address: str) -> None:
    server.connect("\0" + address)
    if not _is_of_this_user(server):
        raise PermissionError(f"{address} is another user's")
    variables = {name: value for name, value in os.environ.items() if name != VARIABLE}
    request = {"script": sys.argv[0], "folder": os.getcwd(), "variables": variables}
    message = json.dumps(request).encode()
    streams = [sys.stdout.fileno(), sys.stderr.fileno()]
    socket.send_fds(server, [len(message).to_bytes(8)], streams)
    server.sendall(message)


# Modules that jobs import beside the library: in Snakemake's first lines of a script, and where
# matplotlib saves a first picture and a first font.
OTHERS = (
    "snakemake.utils",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    *(f"fontTools.ttLib.tables.{table}" for table in ("_g_l_y_f", "G_P_O_S_", "G_S_U_B_")),
)


def import_library() -> None:
    """Import the modules that jobs need."""
    gc.disable()
    for name in OTHERS:
        importlib.import_module(name)
    for module in pkgutil.walk_packages(bertshift.__path__, "bertshift."):
        importlib.import_module(module.name)
    gc.enable()
    gc.freeze()  # else the first collection in each fork copies all imported objects


def serve(listener: socket.socket, driver: int) -> None:
    """Fork for each script until `driver`, a descriptor, is closed at its other end; then end the
    forks."""
    forks: set[int] = set()
    scripts = 0
    while True:
        ready, *_ = select.select([listener, driver], [], [])
        forks = {fork for fork in forks if not _has_ended(fork)}
        if driver in ready:
            break
        client, _ = listener.accept()
        if not _is_of_this_user(client):
            client.close()
            continue
        scripts += 1
        if scripts == ENOUGH:
            import_library()
        if (fork := os.fork()) == 0:
            listener.close()
            _run_job(client)
        forks.add(fork)
        client.close()
    for fork in forks:
        with suppress(ProcessLookupError):
            os.kill(fork, signal.SIGTERM)


def _has_ended(fork: int) -> bool:
    ended, _ = os.waitpid(fork, os.WNOHANG)
    return ended != 0


def _run_job(client: socket.socket) -> None:
    """Run the client's script in this process, then exit."""
    status = 1
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        size, (stdout, stderr), *_ = socket.recv_fds(client, 8, 2)
        request = json.loads(client.recv(int.from_bytes(size), socket.MSG_WAITALL))
        os.dup2(stdout, 1)
        os.dup2(stderr, 2)
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["variables"])
        tempfile.tempdir = None  # the job has its own
        client.sendall(f"{os.getpid()}\n".encode())
        script = request["script"]
        with suppress(OSError):  # the name that `ps` and `top` show
            Path("/proc/self/comm").write_text(Path(script).stem.rpartition(".")[2])
        sys.argv = [script]
        sys.path[0] = os.path.dirname(script)
        runpy.run_path(script, run_name="__main__")
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - as Python does at the end of a script
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                stream.flush()
        with suppress(OSError):
            client.sendall(f"{status}\n".encode())
        os._exit(status)  # a normal exit frees all imported objects, which takes long


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as listener:
        serve(listener, sys.stdin.fileno())
