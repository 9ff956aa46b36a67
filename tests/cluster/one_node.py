"""A real Slurm of one node on this machine, with GPUs that exist only for scheduling."""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

# Of Debian, each with a program in it.
PACKAGES = {
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "slurm-client": "squeue",
    "munge": "munged",
}
# The default place: Snakemake's job step drops SLURM_CONF from the environment of its inner srun.
CONF = Path("/etc/slurm")
MARK = "# one node, for tests"
# CPUs and memory are pretended too: nothing enforces them here.
CPUS, GPUS = 8, 2


class CannotHaveSlurm(Exception):
    """Why there is none here."""


def check() -> None:
    if os.getuid() != 0:
        raise CannotHaveSlurm("starting it takes root")
    if missing := [name for name, program in PACKAGES.items() if not shutil.which(program)]:
        raise CannotHaveSlurm(f"apt-get install --no-install-recommends {' '.join(missing)}")
    conf = CONF / "slurm.conf"
    if conf.exists() and MARK not in conf.read_text():
        raise CannotHaveSlurm(f"{conf} is another cluster's")


class OneNode:
    """Started by entering; leaving it ends its jobs and daemons."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.daemons: list[subprocess.Popen] = []

    def __enter__(self):
        CONF.mkdir(exist_ok=True)
        for name in ("state", "spool"):
            (self.folder / name).mkdir(parents=True)
        (CONF / "slurm.conf").write_text(self._configuration())
        (CONF / "gres.conf").write_text(self._gpus())
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        try:
            files = {name: self.folder / f"munge.{name}" for name in ("pid", "log", "seed")}
            self._start(
                "munged", "--foreground", "--force", f"--socket={self._socket}", f"--key-file={key}",
                *(f"--{option}-file={path}" for option, path in files.items()),
            )  # fmt: skip
            self._until(self._socket.exists, "munged")
            self._start("slurmctld", "-D")
            self._until(lambda: "UP" in self.run("scontrol", "ping"), "slurmctld")
            self._start("slurmd", "-D")
            self._until(
                lambda: re.search("idle|mix", self.run("sinfo", "-h", "-o", "%T")), "slurmd"
            )
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if len(self.daemons) == 3:
            self.run("scancel", *(job["JobId"] for job in self.jobs()))
            end = time.monotonic() + 30
            while self.run("squeue", "-h") and time.monotonic() < end:
                time.sleep(0.2)
        for daemon in reversed(self.daemons):
            daemon.terminate()
            daemon.wait(30)
        for name in ("slurm.conf", "gres.conf"):
            (CONF / name).unlink()

    def run(self, *command: str) -> str:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        return done.stdout if done.returncode == 0 else ""

    def jobs(self) -> list[dict[str, str]]:
        """Slurm's record of every job since it started."""
        return [
            dict(re.findall(r"(\S+?)=(\S*)", record))
            for record in self.run("scontrol", "--oneliner", "show", "job").splitlines()
            if record.startswith("JobId=")
        ]

    def _start(self, *command: str) -> None:
        log = open(self.folder / f"{command[0]}.out", "w")  # noqa: SIM115 (the daemon keeps it)
        self.daemons.append(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT))

    def _until(self, ready, daemon: str) -> None:
        end = time.monotonic() + 30
        while not ready():
            if time.monotonic() > end or self.daemons[-1].poll() is not None:
                log = (self.folder / f"{daemon}.out").read_text()[-1500:]
                raise RuntimeError(f"{daemon} did not start: {log}")
            time.sleep(0.1)

    @property
    def _socket(self) -> Path:
        return self.folder / "munge.socket"

    def _gpus(self) -> str:
        # Each needs a character device of its own, or the node is drained.
        links = [self.folder / f"gpu{number}" for number in range(GPUS)]
        for link in links:
            link.symlink_to("/dev/null")
        return "".join(f"Name=gpu File={link}\n" for link in links)

    def _configuration(self) -> str:
        return f"""{MARK}
ClusterName=tests
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=root
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthType=auth/munge
AuthInfo=socket={self._socket}
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd.pid
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
ReturnToService=2
MinJobAge=3600
KillWait=5
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName=localhost NodeAddr=127.0.0.1 CPUs={CPUS} RealMemory=64000 Gres=gpu:{GPUS}
PartitionName=tests Nodes=localhost Default=YES DefaultTime=60 MaxTime=INFINITE
"""
