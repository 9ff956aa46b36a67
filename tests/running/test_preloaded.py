"""Jobs as forks of a process that has imported the library."""

import os
import subprocess
import sys
import threading
import time

import psutil
import pytest

import bertshift
from bertshift.running.preloaded import Forker

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="jobs are forks on Linux alone")


@pytest.fixture(scope="module")
def forker(library_on_the_path):
    ready = Forker()
    until = time.monotonic() + 120
    while ready.run("/dev/null", None) is None:
        assert time.monotonic() < until
        time.sleep(0.1)
    yield ready
    ready._channel.close()
    assert ready._process.wait(30) == 0


@pytest.fixture(scope="module", autouse=True)
def library_on_the_path():
    """Put the library on PYTHONPATH, as it is for all that a driver starts."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", os.path.dirname(next(iter(bertshift.__path__))))
        yield


def script_of(folder, text):
    path = folder / "tmpabc.finetune.py"
    path.write_text(text)
    return path


def test_a_fork_has_imported_the_library_and_runs_where_this_process_runs(forker, tmp_path):
    script = script_of(
        tmp_path,
        "import os, sys\n"
        "there = 'torch' in sys.modules and 'bertshift.training.finetuning' in sys.modules\n"
        "print(there, os.getcwd(), os.environ['TMPDIR'], sys.argv, sys.path[0], __name__, sep='\\n',\n"
        "      file=open(os.path.join(os.environ['TMPDIR'], 'told'), 'w'))\n",
    )
    assert forker.run(str(script), str(tmp_path)).status == 0
    told = (tmp_path / "told").read_text().splitlines()
    assert told == ["True", os.getcwd(), str(tmp_path), f"['{script}']", str(tmp_path), "__main__"]
    assert "TMPDIR" not in os.environ or os.environ["TMPDIR"] != str(tmp_path)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("pass", 0),
        ("import sys; sys.exit(3)", 3),
        ("import sys; sys.exit()", 0),
        ("import sys; sys.exit('a reason')", 1),
        ("1 / 0", 1),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 1),
        ("import subprocess, sys; sys.exit(subprocess.run(['false']).returncode + 1)", 2),
    ],
)
def test_statuses_are_those_of_a_python_of_its_own(forker, tmp_path, text, status):
    assert forker.run(str(script_of(tmp_path, text)), None).status == status


def test_a_job_says_what_it_took(forker, tmp_path):
    busy = "import time\nwhile time.process_time() < 0.3: pass\n"
    script = script_of(
        tmp_path,
        f"import subprocess, sys, time\nfull = b'1' * 300_000_000\ndel full\n{busy}"
        f"subprocess.run([sys.executable, '-c', {busy!r}])\ntime.sleep(0.5)\n",
    )
    took = forker.run(str(script), None)
    empty = forker.run("/dev/null", None)
    assert 0.6 <= took.cpu < took.seconds - 0.4 and empty.cpu < 0.3
    assert 280 < took.megabytes - empty.megabytes < 400


def test_a_job_can_be_stopped(forker, tmp_path):
    script = script_of(
        tmp_path,
        "import os, signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
        f"os.symlink(str(os.getpid()), '{tmp_path}/ready')\ntime.sleep(60)\n",
    )
    seen = []

    def stop():
        while not (tmp_path / "ready").is_symlink():
            time.sleep(0.01)
        process = psutil.Process(int(os.readlink(tmp_path / "ready")))
        seen.append(process.name())
        process.terminate()

    stopping = threading.Thread(target=stop)
    stopping.start()
    assert forker.run(str(script), None).status == 7
    stopping.join()
    assert seen == ["finetune"]


def test_a_process_that_cannot_be_had_leaves_the_job_to_its_caller_and_says_so_once(capfd):
    broken = Forker()
    assert broken.run("/dev/null", None) is None  # it imports
    broken._process.kill()
    broken._process.wait()
    for _ in range(2):
        assert broken.run("/dev/null", None) is None
    [told] = capfd.readouterr().err.splitlines()
    assert told.startswith("Every job from now on imports the library by itself") and "status -9" in told


def test_it_ends_with_the_process_that_started_it(tmp_path):
    text = (
        "from bertshift.running.preloaded import Forker\n"
        "forker = Forker()\n"
        "while forker.run('/dev/null', None) is None: pass\n"
        "print(forker._process.pid, flush=True)\n"
        "import os; os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", text], check=False, capture_output=True, text=True, timeout=120
    )
    left = int(done.stdout)
    until = time.monotonic() + 30
    while psutil.pid_exists(left) and psutil.Process(left).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < until
        time.sleep(0.05)


STARTED = """
import os, select, signal, time
from bertshift.running.preloaded import Forker

forker = Forker()
run = lambda script: forker.run(script, None)
run("/dev/null")
ready = lambda: select.select([forker._channel], [], [])
signal.signal(signal.SIGINT, lambda *_: os._exit(0))
"""


@pytest.mark.parametrize(
    "end",
    [
        "time.sleep(1); os.killpg(0, signal.SIGINT)",
        "ready()",
        "ready(); run('/dev/null'); signal.alarm(1); run({script!r})",
    ],
    ids=["interrupted while it imports", "before it is asked", "while a job is at work"],
)
def test_it_and_its_jobs_end_without_a_word_after_the_process_that_started_it(tmp_path, end):
    script = script_of(tmp_path, "import time\ntime.sleep(2)\n")
    command = [sys.executable, "-c", STARTED + end.format(script=str(script))]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=120, start_new_session=True
    )
    assert (done.stdout, done.stderr) == ("", "")
