"""Jobs as forks of a process that has imported the library."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress

import psutil
import pytest

import bertshift
from bertshift.running import warm

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="abstract sockets are Linux's")
HANDED_OVER = "from bertshift.running.warm import hand_over\nhand_over()\n"


@pytest.fixture(scope="module")
def server():
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", os.path.dirname(next(iter(bertshift.__path__))))
        patched.setenv(warm.VARIABLE, "")
        server = warm.start()
        for _ in range(warm.ENOUGH):  # with the last of them it imports the library
            subprocess.run([sys.executable, "-c", HANDED_OVER], check=False)
        yield server
        server.stdin.close()
        assert server.wait(30) == 0


def started(folder, text, **more):
    path = folder / "tmpabc.finetune.py"
    path.write_text(HANDED_OVER + text)
    return subprocess.Popen(
        [sys.executable, path], cwd=folder, stdout=subprocess.PIPE, text=True, **more
    )


def wait_for(path):
    until = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < until
        time.sleep(0.01)
    return path


def test_a_fork_has_the_library_and_all_that_the_script_was_given(server, tmp_path):
    text = (
        "import os, sys\n"
        "print('torch' in sys.modules, 'bertshift.training.finetuning' in sys.modules, os.getcwd(), os.environ['GIVEN'])\n"
        f"print({warm.VARIABLE!r} in os.environ, sys.argv, __name__)\n"
    )
    process = started(tmp_path, text, env=os.environ | {"GIVEN": "yes"})
    script = tmp_path / "tmpabc.finetune.py"
    expected = f"True True {tmp_path} yes\nFalse ['{script}'] __main__\n"
    assert process.communicate(timeout=120)[0] == expected and process.returncode == 0


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("import sys; sys.exit(3)", 3),
        ("import sys; sys.exit()", 0),
        ("import sys; sys.exit('a reason')", 1),
        ("1 / 0", 1),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 1),
        ("import subprocess, sys; sys.exit(subprocess.run(['false']).returncode + 1)", 2),
    ],
)
def test_statuses_are_those_of_a_python_of_its_own(server, tmp_path, text, status):
    process = started(tmp_path, text, stderr=subprocess.DEVNULL)
    assert process.wait(120) == status


WAITING = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
open("begun", "w").close()
time.sleep(60)
"""


def test_who_waits_for_a_job_can_stop_it(server, tmp_path):
    process = started(tmp_path, WAITING)
    wait_for(tmp_path / "begun")
    process.terminate()
    assert process.wait(30) == 7


@pytest.mark.parametrize(
    "variable", ["", '["nobody-listens-here", "%s"]', '["other", "/another/python"]']
)
def test_without_a_server_a_script_runs_by_itself(tmp_path, variable):
    environment = os.environ | {warm.VARIABLE: variable.replace("%s", sys.executable)}
    process = started(tmp_path, "import sys; print('torch' in sys.modules)", env=environment)
    assert process.communicate(timeout=60)[0] == "False\n" and process.returncode == 0


def status_of(function):
    """The exit status of a fork that calls it."""
    if (fork := os.fork()) == 0:
        try:
            os._exit(function())
        finally:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1])


def test_no_other_user_is_served_or_trusted(server, tmp_path):
    if os.getuid():
        pytest.skip("becoming another user takes root")
    address, _ = json.loads(os.environ[warm.VARIABLE])

    def answered_as_another_user():
        os.setuid(65534)
        with socket.socket(socket.AF_UNIX) as connected, suppress(ConnectionError):
            connected.settimeout(20)
            connected.connect("\0" + address)
            request = json.dumps({"script": "/x", "folder": "/", "variables": {}}).encode()
            socket.send_fds(connected, [len(request).to_bytes(8)], [1, 2])
            connected.sendall(request)
            return len(connected.recv(1))
        return 0

    assert status_of(answered_as_another_user) == 0

    def refused_as_another_user():
        os.setuid(65534)
        with socket.socket(socket.AF_UNIX) as connected, pytest.raises(PermissionError):
            warm._send_script(connected, address)
        return 0

    assert status_of(refused_as_another_user) == 0


DRIVER = """
import os, signal, subprocess, sys, time
from bertshift.running import warm
server = warm.start()
subprocess.Popen([sys.executable, sys.argv[1]])
print(server.pid, flush=True)
time.sleep(120)
"""


def test_server_and_jobs_end_with_the_driver_however_that_ends(tmp_path):
    script = tmp_path / "job.py"
    script.write_text(HANDED_OVER + WAITING.replace("begun", str(tmp_path / "begun")))
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, script], stdout=subprocess.PIPE, text=True
    )
    server = psutil.Process(int(driver.stdout.readline()))
    wait_for(tmp_path / "begun")
    forks = server.children()
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    _, left = psutil.wait_procs([server, *forks], timeout=30)
    assert forks and not [one for one in left if one.status() != psutil.STATUS_ZOMBIE]
