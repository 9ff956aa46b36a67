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
from datasets import ClassLabel, List

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
folder, errors = Path(sys.argv[1]), {}
for case, spec in json.loads(sys.argv[2]).items():
    try:
        prepare_from_hub(case, spec, folder / case, folder / "cache")
        errors[case] = None
    except UserError as error:
        errors[case] = str(error)
(folder / "errors.json").write_text(json.dumps(errors))
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


def repository(train: bytes, dev: bytes) -> dict[str, bytes]:
    return {
        "README.md": card("rte", ["train", "validation"], CLASSES),
        "rte/train-00000-of-00001.parquet": train,
        "rte/validation-00000-of-00001.parquet": dev,
    }


def tree() -> bytes:
    row = {key: ["w", "w"] for key in ("tokens", "xpos", "deprel")} | {"upos": ["X", "X"]}
    row |= {"sent_id": "s", "text": "w w", "head": ["2", "0"]}
    blanked = row | {"tokens": ["_", "__"]}
    return parquet_file({key: [row[key], blanked[key]] for key in row})


def questions() -> bytes:
    answers = [{"text": ["cat"], "answer_start": [4]}, {"text": [], "answer_start": []}]
    columns = {"id": ["a", "b"], "question": ["Who?"] * 2, "context": ["the cat"] * 2}
    return parquet_file(columns | {"answers": answers})


FAULTS = ("drop", "drop-once", "flipped")
REVISIONS = {"gone": "f" * 40, "branch": "main", "busy": BUSY}


def case(dataset: str, repository: str, **changes) -> dict:
    hub = CATALOGUE[dataset]["hub"] | {"id": f"made/{repository}", "revision": REVISION} | changes
    return CATALOGUE[dataset] | {"hub": hub, "published": None}


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """(folder, error of each case, requests); the error is None where there was none."""
    folder = tmp_path_factory.mktemp("hub")
    good = repository(glue(4), glue(2))
    text = "Article {} is about one thing. It is about another thing too."
    articles = {"text": [text.format(i) for i in range(50)]}
    ewt = {f"en_ewt/{split}-0.parquet": tree() for split in ("train", "dev", "test")}
    repositories = dict.fromkeys(FAULTS, good) | {
        "good": good,
        "card": repository(glue(4, first="premise"), glue(2)),
        "ewt": {"README.md": card("en_ewt", ["train", "dev", "test"]), **ewt},
        "squad2": {"README.md": b""}
        | dict.fromkeys(("train-0.parquet", "validation-0.parquet"), questions()),
        "wikipedia": {
            "README.md": card("20231101.en", ["train"]),
            "20231101.en/train-00000-of-00041.parquet": parquet_file(articles, row_group_size=10),
            "20231101.en/train-00001-of-00041.parquet": b"never fetched",
        },
    }
    cases = {name: case("rte", name) for name in (*FAULTS, "good", "card", "absent")}
    cases |= {name: case("rte", "good", revision=revision) for name, revision in REVISIONS.items()}
    cases |= {"config": case("rte", "good", name="ret"),
              "splits": case("rte", "good", splits={"train": "train", "dev": "valid"}),
              "labels": case("rte", "good") | {"labels": {"1": "yes"}}}  # fmt: skip
    cases |= {name: case(name, name) for name in ("ewt", "squad2")}
    cases["wikipedia"] = case("wikipedia", "wikipedia", rows=3)
    faults = {f"made/{fault}": fault.replace("-", " ") for fault in FAULTS}
    with SmallHub({f"made/{name}": files for name, files in repositories.items()}, faults) as hub:
        environment = os.environ | {
            "HF_ENDPOINT": hub.url, "HF_HOME": str(folder / "home"), "HF_HUB_OFFLINE": "0",
            "NO_PROXY": "127.0.0.1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1", "PYTHONPATH": str(ROOT / "workflow"),
        }  # fmt: skip
        command = [sys.executable, "-c", CLIENT, str(folder), json.dumps(cases)]
        subprocess.run(command, env=environment, check=True, timeout=120)
    return folder, json.loads((folder / "errors.json").read_text()), dict(hub.requests)


def rows(folder: Path, case: str) -> list[dict]:
    text = (folder / case / "examples.jsonl").read_text()
    return [json.loads(line) for line in text.split("\n") if line]


def test_data_of_the_hub_become_examples(outcome):
    folder, errors, _ = outcome
    assert errors["good"] is None
    text = 'He said "0".\u2028'
    row = {"id": "dev-0", "split": "dev", "text_a": text, "text_b": text, "label": "entailment"}
    assert rows(folder, "good")[4] == row
    sidecar = json.loads((folder / "good" / "dataset.json").read_text())
    assert sidecar["source"] == f"hub:made/good@{REVISION}" and sidecar["revision"] == REVISION
    assert sidecar["rows"] == {"train": 4, "dev": 2}
    files = {f"rte/{split}-00000-of-00001.parquet" for split in ("train", "validation")}
    assert set(sidecar["source_sha256"]) == files


def test_every_kind(outcome):
    folder, errors, served = outcome
    assert [errors[case] for case in ("ewt", "squad2", "wikipedia")] == [None] * 3
    answered, impossible = rows(folder, "squad2")[:2]
    assert answered["answers"] == [{"text": "cat", "start": 4}] and not impossible["answers"]
    assert (answered["impossible"], impossible["impossible"]) == (False, True)
    assert [(row["words"], row["heads"]) for row in rows(folder, "ewt")] == [
        (["w", "w"], [2, 0])
    ] * 3
    irregular = json.loads((folder / "ewt/dataset.json").read_text())["irregular"]
    assert irregular["dev"]["sentences published without their words"] == 1
    sentences = [(row["document"], row["sentence"]) for row in rows(folder, "wikipedia")]
    assert sentences == [*product(range(3), range(2))]
    assert ("made/wikipedia", "20231101.en/train-00001-of-00041.parquet") not in served


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        ("drop", "in 4 attempts (RemoteProtocolError"),
        ("flipped", "train-00000-of-00001.parquet arrived with another SHA-256"),
        ("busy", "in 4 attempts (ConnectionError"),
        ("gone", f"The hub has no made/good@{'f' * 40}"),
        ("absent", "The hub has no made/absent@"),
        ("branch", "pins the revision 'main'"),
        ("splits", 'Unknown split "valid"'),
        ("card", "CastError: Couldn't cast"),
        ("config", "BuilderConfig 'ret' not found"),
        ("labels", "split train, row 1 has the unknown label 'entailment'"),
    ],
)
def test_a_fault_is_one_sentence_and_leaves_nothing(outcome, case, problem):
    folder, errors, _ = outcome
    assert problem in errors[case]
    assert "\n" not in errors[case]
    assert not list(folder.glob(f"{case}/*"))


def test_a_broken_connection_is_resumed(outcome):
    folder, errors, served = outcome
    assert errors["drop-once"] is None and rows(folder, "drop-once") == rows(folder, "good")
    # The client's own resumptions (5) within each of our attempts (4), and no more.
    assert max(served.values()) <= 30


def test_classes_become_their_names_in_lists_too_and_a_missing_one_stays():
    classes = ClassLabel(names=["no", "yes"])
    assert hub._decode_classes([1, 0], List(classes)) == ["yes", "no"]
    assert [hub._decode_classes(value, classes) for value in (1, -1, None)] == ["yes", -1, None]


class Breaking:
    """A stream of numbers below 9 whose connection breaks after every second one, `faults`
    times."""

    def __init__(self, faults: int, numbers=range(9)):
        self.faults, self.numbers = iter(range(faults)), numbers

    def skip(self, count: int):
        return self.part(self.numbers[count:])

    def take(self, count: int):
        return self.part(self.numbers[:count])

    def part(self, numbers):
        stream = Breaking(0, numbers)
        stream.faults = self.faults
        return stream

    def __iter__(self):
        for position, number in enumerate(self.numbers):
            if position == 2 and next(self.faults, None) is not None:
                raise ConnectionError("peer closed connection")
            yield number


def test_a_broken_stream_goes_on_where_it_broke(monkeypatch):
    monkeypatch.setattr(attempts, "FIRST_WAIT", 0)

    def stream(faults, count):
        return [*hub._stream_rows(Breaking(faults), count, "made/wikipedia")]

    assert stream(hub.ATTEMPTS - 1, 8) == list(range(8))
    assert stream(0, 99) == list(range(9))
    with pytest.raises(UserError, match=r"made/wikipedia in 4 attempts \(ConnectionError: peer"):
        stream(hub.ATTEMPTS, 9)
