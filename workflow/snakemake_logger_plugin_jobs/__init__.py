"""A plugin, which Snakemake finds by its name: `--logger jobs --logger-jobs-file FILE` writes the
jobs of a run as JSON, one a line. `make plan` reads them."""

import json
from dataclasses import dataclass, field
from logging import LogRecord
from pathlib import Path

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase


@dataclass
class LogHandlerSettings(LogHandlerSettingsBase):
    file: str = field(default="", metadata={"help": "the file to write", "required": True})


class LogHandler(LogHandlerBase):
    writes_to_stream = False
    writes_to_file = False  # not a log, which Snakemake would name at the end
    has_filter = True
    has_formatter = True
    needs_rulegraph = False

    def __post_init__(self) -> None:
        self.file = Path(self.settings.file)
        self.file.write_text("", encoding="utf-8")  # there may be no job

    def emit(self, record: LogRecord) -> None:
        if getattr(record, "event", None) == LogEvent.JOB_INFO:
            with self.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(_describe(record)) + "\n")


def _describe(job: LogRecord) -> dict:
    return {
        "rule": job.rule_name,
        "wildcards": job.wildcards,
        "inputs": job.input,
        "outputs": job.output,
        "log": job.log[0] if job.log else "",
        "threads": job.threads,
        "gpu": job.resources.get("gpu") == 1,
    }
