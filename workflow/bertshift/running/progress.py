"""How many jobs are done, when the last will be, and what there is to look at: lines in the driver's terminal."""

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from pathlib import Path

# No end is told while jobs of a kind of which none has finished may take more than this share of the time that is left.
UNKNOWN = 1 / 3
SECONDS_BETWEEN = 5


class Progress(logging.Handler):
    """Listens to Snakemake's log records; `say` gets a line after a job has ended, not more often than every 5 s, and one
    for each picture and page that a job has made.

    planned: called when the first job starts, gives {job's number: (kind, expected seconds)} of those that are left, and the
    kinds whose expected seconds come from jobs that have finished in an earlier run.
    """

    def __init__(
        self,
        planned: Callable[[], tuple[Mapping[int, tuple[str, float]], Collection[str]]],
        say: Callable[[str], None],
        clock: Callable[[], float] = time.time,
    ):
        super().__init__()
        self.planned, self.say, self.clock = planned, say, clock
        self.jobs, self.known, self.began = {}, (), 0.0
        self.running, self.took, self.said = {}, {}, -SECONDS_BETWEEN
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
                    self.jobs, self.known = self.planned()
            case "job_info":
                self.shows[record.jobid] = list(filter(None, map(_shown, record.output)))
            case "job_error":
                self.running.pop(record.jobid, None)
            case "job_finished":
                self.took[record.job_id] = now - self.running.pop(record.job_id, now)
                for told in self.shows.pop(record.job_id, []):
                    self.say(f"[{_clock(now)}] {told}")
            case "progress" if now >= self.said + SECONDS_BETWEEN and record.done < record.total:
                self.said = now
                self.say(self.line(record.done, record.total, now))

    def line(self, done: int, total: int, now: float) -> str:
        running, end = len(self.running), self.end(now)
        return f"[{_clock(now)}] {done} of {total} done, {running} running, {total - done - running} left" + (
            f"; ends about {end}" if end else ""
        )

    def end(self, now: float) -> str:
        """Estimate the time of day when the last job ends, with weekday and date where it is not today; empty where
        finished jobs do not tell it. Jobs take what those of their kind took, and as many run at a time as so far."""
        expected, took = defaultdict(float), defaultdict(float)
        for job in self.took.keys() & self.jobs.keys():
            kind, seconds = self.jobs[job]
            for name in (kind, ""):  # all kinds together
                expected[name] += seconds
                took[name] += self.took[job]
        left = unknown = 0.0
        for job, (kind, seconds) in self.jobs.items():
            name = kind if expected[kind] else ""
            if job not in self.took and expected[name]:
                more = max(0.0, seconds * took[name] / expected[name] - (now - self.running.get(job, now)))
                left, unknown = left + more, unknown + more * (not name and kind not in self.known)
        worked = took[""] + sum(now - begun for begun in self.running.values())
        if not expected[""] or not worked or unknown > UNKNOWN * left:
            return ""
        end = now + left * (now - self.began) / worked
        same_day = datetime.fromtimestamp(end).date() == datetime.fromtimestamp(now).date()
        return _clock(end) if same_day else datetime.fromtimestamp(end).strftime("%a %d %b %H:%M")


def _shown(file: str) -> str | None:
    """Mention a new page or figure; None for a file that is not for the eyes."""
    if file.endswith(".html"):
        return f"open {Path(file).absolute().as_uri()}"
    return f"new figure {file}" if file.endswith(".png") else None


def _clock(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%H:%M")
