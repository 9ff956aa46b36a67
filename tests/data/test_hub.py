"""The hub client against a small hub on localhost that serves made data and misbehaves on
purpose."""

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
import yaml
from data.small_hub import BUSY, REVISION, SmallHub, parquet_file

from bertshift.data import attempts, hub
from bertshift.errors import UserError

ROOT = Path(__file__).parents[2]
CATALOGUE = yaml.safe_load((ROOT / "config" / "datasets.yaml").read_text(encoding="utf-8"))

# The hub's address is read when its client is imported, hence a process of its own; one for all
# cases, as it takes seconds to start. Waiting is cut short, not left out.
CLIENT = """
import json, sys, time
from pathlib import Path
wait = time.sleep
time.sleep = lambda seconds: wait(min(seconds, 0.01))
from bertshift.data.prepare import prepare_from_hub
from bertshift.errors import UserError
folder, said = Path(sys.argv[1]), {}
for case, spec in json.loads(sys.argv[2]).items():
    try:
        prepare_from_hub(case, spec, folder / case, folder / "cache")
        said[case] = None
    except UserError as error:
        said[case] = str(error)
(folder / "said.json").write_text(json.dumps(said))
"""


def card(name: str, splits: list[str], features: str = "") -> bytes:
    files = "".join(f"\n  - split: {split}\n    path: {name}/{split}-*" for split in splits)
    return f"---\nconfigs:\n- config_name: {name}\n  data_files:{files}\n{features}---\n".encode()


CLASSES = """dataset_info:
- config_name: rte
  features:
  - {name: sentence1, dtype: string}
  - {name: sentence2, dtype: string}
  - name: label
    dtype: {class_label: {names: {'0': entailment, '1': not_entailment}}}
"""


def glue(rows: int, first: str = "sentence1") -> bytes:
    texts = [f'He said "{i}".\u2028' for i in range(rows)]
    return parquet_file({first: texts, "sentence2": texts, "label": [i % 2 for i in range(rows)]})


def repository(train: bytes, dev: bytes, features: str = CLASSES) -> dict[str, bytes]:
    files = {
        "rte/train-00000-of-00001.parquet": train,
        "rte/validation-00000-of-00001.parquet": dev,
    }
    return {"README.md": card("rte", ["train", "validation"], features), **files}


def tree(heads: list) -> bytes:
    row = dict.fromkeys(("tokens", "upos", "xpos", "deprel"), ["w"] * len(heads))
    row |= {"sent_id": "s", "text": "w w", "head": heads}
    return parquet_file({key: [value] for key, value in row.items()})


def questions() -> bytes:
    answers = [{"text": ["cat"], "answer_start": [4]}, {"text": [], "answer_start": []}]
    return parquet_file(
        {
            "id": ["a", "b"],
            "question": ["Who?"] * 2,
            "context": ["the cat"] * 2,
            "answers": answers,
        }
    )


FAULTS = ("drop", "drop once", "html", "error", "flipped")
REVISIONS = {"gone": "f" * 40, "branch": "main", "busy": BUSY}


def case(dataset: str, repository: str, **changes) -> dict:
    hub = CATALOGUE[dataset]["hub"] | {"id": f"made/{repository}", "revision": REVISION} | changes
    return CATALOGUE[dataset] | {"hub": hub, "published": None}


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """(folder, what each case said): None where it succeeded, else the sentence for the user."""
    folder = tmp_path_factory.mktemp("hub")
    good = repository(glue(4), glue(2))
    articles = [
        f"Article {i} tells of one thing. It tells of another thing too." for i in range(50)
    ]
    ewt = {f"en_ewt/{split}-0.parquet": tree(["2", "0"]) for split in ("train", "dev", "test")}
    repositories = {fault.replace(" ", "-"): good for fault in FAULTS} | {
        "good": good,
        "card": repository(glue(4, first="premise"), glue(2)),
        "empty": repository(glue(4), glue(0)),
        "ewt": {"README.md": card("en_ewt", ["train", "dev", "test"]), **ewt},
        "squad2": {
            "README.md": b"",
            "train-0.parquet": questions(),
            "validation-0.parquet": questions(),
        },
        "wikipedia": {
            "README.md": card("20231101.en", ["train"]),
            "20231101.en/train-00000-of-00041.parquet": parquet_file(
                {"text": articles}, row_group_size=10
            ),
            "20231101.en/train-00001-of-00041.parquet": b"never asked for",
        },
    }
    cases = {
        name: case("rte", name.replace(" ", "-"))
        for name in (*FAULTS, "good", "card", "empty", "absent")
    }
    cases |= {name: case("rte", "good", revision=revision) for name, revision in REVISIONS.items()}
    cases |= {"config": case("rte", "good", name="ret"),
              "splits": case("rte", "good", splits={"train": "train", "dev": "valid"}),
              "labels": case("rte", "good") | {"labels": {"1": "yes"}}}  # fmt: skip
    cases |= {name: case(name, name) for name in ("ewt", "squad2")}
    cases["wikipedia"] = case("wikipedia", "wikipedia", rows=3)
    faults = {f"made/{fault.replace(' ', '-')}": fault for fault in FAULTS}
    with SmallHub({f"made/{name}": files for name, files in repositories.items()}, faults) as hub:
        environment = os.environ | {
            "HF_ENDPOINT": hub.url, "HF_HOME": str(folder / "home"), "HF_HUB_OFFLINE": "0", "NO_PROXY": "127.0.0.1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1", "PYTHONPATH": str(ROOT / "workflow"),
        }  # fmt: skip
        command = [sys.executable, "-c", CLIENT, str(folder), json.dumps(cases)]
        subprocess.run(command, env=environment, check=True, timeout=120)
    return folder, json.loads((folder / "said.json").read_text()), dict(hub.requests)


def rows(folder: Path, case: str) -> list[dict]:
    return [
        json.loads(line)
        for line in (folder / case / "examples.jsonl").read_text().split("\n")
        if line
    ]


def test_good_data_become_the_same_form(outcome):
    folder, said, _ = outcome
    assert said["good"] is None
    texts = dict.fromkeys(("text_a", "text_b"), 'He said "0".\u2028')
    assert rows(folder, "good")[4] == {
        "id": "dev-0",
        "split": "dev",
        **texts,
        "label": "entailment",
    }
    sidecar = json.loads((folder / "good" / "dataset.json").read_text())
    assert sidecar["source"] == f"hub:made/good@{REVISION}" and sidecar["revision"] == REVISION
    assert sidecar["rows"] == {"train": 4, "dev": 2}
    files = {f"rte/{split}-00000-of-00001.parquet" for split in ("train", "validation")}
    assert set(sidecar["source_sha256"]) == files


def test_every_kind(outcome):
    folder, said, served = outcome
    assert [said[case] for case in ("ewt", "squad2", "wikipedia")] == [None] * 3
    answered, impossible = rows(folder, "squad2")[:2]
    assert answered["answers"] == [{"text": "cat", "start": 4}] and not impossible["answers"]
    assert (answered["impossible"], impossible["impossible"]) == (False, True)
    assert rows(folder, "ewt")[0]["heads"] == [2, 0]
    places = [(row["document"], row["sentence"]) for row in rows(folder, "wikipedia")]
    assert places == [*product(range(3), range(2))]
    assert ("made/wikipedia", "20231101.en/train-00001-of-00041.parquet") not in served


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("drop", "in 4 attempts (RemoteProtocolError"),
        ("html", "in 4 attempts (OSError: Consistency check failed"),
        ("error", "in 4 attempts (HTTPStatusError: Server error '500"),
        ("flipped", "train-00000-of-00001.parquet arrived with another SHA-256"),
        ("busy", "in 4 attempts (ConnectionError"),
        ("gone", f"The hub has no made/good@{'f' * 40}"),
        ("absent", "The hub has no made/absent@"),
        ("branch", "pins the revision 'main'"),
        ("splits", 'Unknown split "valid"'),
        ("card", "CastError: Couldn't cast"),
        ("config", "BuilderConfig 'ret' not found"),
        ("labels", "split train, row 1 has the unknown label 'entailment'"),
        ("empty", "The files of the hub's made/empty@"),
    ],
)
def test_a_fault_is_one_sentence_and_leaves_nothing(outcome, case, reason):
    folder, said, _ = outcome
    assert reason in said[case]
    assert "\n" not in said[case]
    assert not list(folder.glob(f"{case}/*"))


def test_a_broken_connection_is_taken_up_again(outcome):
    folder, said, served = outcome
    assert said["drop once"] is None and rows(folder, "drop once") == rows(folder, "good")
    # The client's own resumptions (5) within each of our attempts (4), and no more.
    assert all(number <= 30 for number in served.values())


class Breaking:
    """A stream of numbers whose connection breaks after every second one, as often as `faults`
    says."""

    def __init__(self, faults: int, start: int = 0, end: int = 9, left: list | None = None):
        self.left = [None] * faults if left is None else left
        self.start, self.end = start, end

    def skip(self, number: int):
        return Breaking(0, self.start + number, self.end, self.left)

    def take(self, number: int):
        return Breaking(0, self.start, min(self.end, self.start + number), self.left)

    def __iter__(self):
        for done, number in enumerate(range(self.start, self.end)):
            if done == 2 and self.left:
                self.left.pop()
                raise ConnectionError("peer closed connection")
            yield number


def test_a_broken_stream_goes_on_where_it_broke(monkeypatch):
    monkeypatch.setattr(attempts, "FIRST_WAIT", 0)
    rows = hub._stream_rows(Breaking(hub.ATTEMPTS - 1), 8, "made/wikipedia")
    assert list(rows) == list(range(8))
    assert list(hub._stream_rows(Breaking(0), 99, "made/wikipedia")) == list(range(9))
    rows = hub._stream_rows(Breaking(hub.ATTEMPTS), 9, "made/wikipedia")
    with pytest.raises(
        UserError, match=r"not deliver made/wikipedia in 4 attempts \(ConnectionError: peer closed"
    ):
        list(rows)
