"""How many jobs are done, when the last will be, and what there is to look at: lines in the driver's terminal."""

import logging
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

# The plan counts as so much of the work seen, so that the first jobs alone do not tell the speed.
TRUST = 0.1
SECONDS_BETWEEN = 5


class Progress(logging.Handler):
    """Listens to Snakemake's log records; `say` gets a line after a job has ended, not more often than every 5 s, and one
    for each picture and page that a job has made.

    planned: called when the first job starts, gives {job's number: expected seconds} and the expected seconds of all.
    """

    def __init__(
        self,
        planned: Callable[[], tuple[Mapping[int, float], float]],
        say: Callable[[str], None],
        clock: Callable[[], float] = time.time,
    ):
        super().__init__()
        self.planned, self.say, self.clock = planned, say, clock
        self.seconds, self.expected, self.began = {}, 0.0, 0.0
        self.running, self.done, self.said = {}, set(), -SECONDS_BETWEEN
        self.shows: dict[int, list[str]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._take(record)
        except Exception:  # noqa: BLE001 - a line about the work must not end the work
            self.handleError(record)

    def _take(self, record: logging.LogRecord) -> None:
        now = self.clock()
        match str(getattr(record, "event", "")):
            case "job_started":
                self.running |= dict.fromkeys(record.jobs, now)
                if not self.began:
                    self.began = now
                    self.seconds, self.expected = self.planned()
            case "job_info":
                self.shows[record.jobid] = list(filter(None, map(_shown, record.output)))
            case "job_error":
                self.running.pop(record.jobid, None)
            case "job_finished":
                self.running.pop(record.job_id, None)
                self.done.add(record.job_id)
                for told in self.shows.pop(record.job_id, []):
                    self.say(f"[{_clock(now)}] {told}")
            case "progress" if now >= self.said + SECONDS_BETWEEN and record.done < record.total:
                self.said = now
                self.say(self.line(record.done, record.total, now))

    def line(self, done: int, total: int, now: float) -> str:
        running = len(self.running)
        left = total - done - running
        end = f"; ends about {self.end(now)}" if self.seconds else ""
        return f"[{_clock(now)}] {done} of {total} done, {running} running, {left} left{end}"

    def end(self, now: float) -> str:
        """The time of day when the last job ends, at the speed seen so far, with the weekday where it is not today."""
        work = sum(self.seconds.values())
        done = sum(self.seconds.get(job, 0.0) for job in self.done) + sum(
            min(now - begun, self.seconds.get(job, 0.0)) for job, begun in self.running.items()
        )
        speed = (done + TRUST * work) / (now - self.began + TRUST * self.expected)
        end = now + (work - done) / speed
        same_day = datetime.fromtimestamp(end).date() == datetime.fromtimestamp(now).date()
        return _clock(end) if same_day else datetime.fromtimestamp(end).strftime("%a %d %b %H:%M")


def _shown(file: str) -> str | None:
    """What to say of a new file; nothing of one that is not for the eyes."""
    if file.endswith(".html"):
        return f"open {Path(file).absolute().as_uri()}"
    return f"new figure {file}" if file.endswith(".png") else None


def _clock(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%H:%M")
