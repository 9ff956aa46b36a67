import logging
from datetime import datetime
from pathlib import Path

import pytest

from bertshift.running.progress import Progress


class Run:
    """Jobs from noon on, by default four alike of 60 s."""

    def __init__(self, planned=(("finetune", 60.0),) * 4, known=()):
        self.now, self.said = datetime(2024, 2, 29, 12).timestamp(), []
        jobs = dict(enumerate(planned))
        self.handler = Progress(lambda: (jobs, known), self.said.append, lambda: self.now)

    def tell(self, event, after=0.0, **more):
        self.now += after
        self.handler.emit(logging.makeLogRecord({"event": event, **more}))
        return self.said[-1] if self.said else None

    def job(self, number, seconds):
        self.tell("job_started", jobs=[number])
        self.tell("job_finished", seconds, job_id=number)
        return self.tell("progress", done=number + 1, total=4)


@pytest.fixture
def run():
    return Run()


def test_as_planned(run):
    run.tell("job_started", jobs=[0, 1])
    run.tell("job_finished", 60, job_id=0)
    assert run.tell("progress", done=1, total=4) == "[12:01] 1 of 4 done, 1 running, 2 left; ends about 12:02"


def test_slower_than_planned(run):
    assert run.job(0, 60).endswith("ends about 12:04")
    late = run.job(1, 600)
    assert late.startswith("[12:11] 2 of 4 done, 0 running, 2 left") and late.endswith("ends about 12:22")


def test_no_end_is_told_before_a_job_of_the_kind_has_finished():
    """Narrow models: what trains them is a tenth as slow as planned, probes are as slow."""
    planned = [
        ("finetune", 600.0),
        ("finetune", 600.0),
        ("edge_probes", 600.0),
        ("edge_probes", 600.0),
        ("draw", 2.0),
    ]
    run = Run(planned)
    assert "ends" not in run.job(0, 60) and "ends" not in run.job(1, 60)
    assert run.job(2, 600).endswith("ends about 12:22")
    # Those that an earlier run finished are known, and in its seconds.
    assert Run(planned, known={"finetune", "edge_probes"}).job(0, 600).endswith("ends about 12:40")


def test_as_many_run_at_a_time_as_so_far(run):
    run.tell("job_started", jobs=[0, 1])
    run.tell("job_finished", 60, job_id=0)
    run.tell("job_finished", 0, job_id=1)
    assert run.tell("progress", done=2, total=4).endswith("ends about 12:02")


def test_the_day_is_named_where_it_is_another(run):
    assert run.job(0, 12 * 3600 + 60).endswith("ends about Sat 02 Mar 12:04")


def test_a_failed_job_does_not_run(run):
    run.tell("job_started", jobs=[0, 1])
    run.tell("job_error", 5, jobid=0)
    run.tell("job_finished", 55, job_id=1)
    assert "1 of 4 done, 0 running, 3 left" in run.tell("progress", done=1, total=4)


def test_not_more_often_than_every_few_seconds_and_not_at_the_end(run):
    for number in range(3):
        run.job(number, 1)
    assert len(run.said) == 1
    run.job(3, 60)
    assert len(run.said) == 1


def test_figures_and_pages_are_named_when_they_are_there(run):
    run.tell(
        "job_info",
        jobid=0,
        output=["results/figures/hao2020/figure1.png", "results/figures/hao2020/figure1.tsv"],
    )
    run.tell("job_info", jobid=1, output=["results/a b.html"])
    assert run.said == []
    run.tell("job_finished", 60, job_id=0)
    run.tell("job_finished", 60, job_id=1)
    page = (Path.cwd() / "results/a b.html").as_uri()
    assert run.said == ["[12:01] new figure results/figures/hao2020/figure1.png", f"[12:02] open {page}"]


def test_what_goes_wrong_in_it_stops_nothing(run, capsys):
    run.handler.planned = lambda: 1 / 0
    run.tell("job_started", jobs=[0])
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert run.job(0, 60) == "[12:01] 1 of 4 done, 0 running, 3 left"
