"""Vocabularies, pretraining, and checkpoints that were pretrained elsewhere."""

from collections.abc import Mapping
from pathlib import Path

from bertshift.errors import UserError
from bertshift.models.source import as_asked_before
from bertshift.requests import Request
from bertshift.requests.data import stamps
from bertshift.requests.runs import files, run_named

CHECKPOINT = "results/pretrained/{base}/init{init}"


def pretrained_here(config: Mapping) -> list[str]:
    return [name for name, base in config["bases"].items() if "pretrain" in base]


def pretrained_elsewhere(config: Mapping) -> list[str]:
    return [name for name, base in config["bases"].items() if "pretrain" not in base]


def with_known_commits(config: dict) -> dict:
    """The configuration, in which an entry without a commit has the one that it was resolved to before."""
    for name in pretrained_elsewhere(config):
        entries = config["bases"][name]["checkpoints"]
        entries[:] = [
            as_asked_before(entry, CHECKPOINT.format(base=name, init=init))
            for init, entry in enumerate(entries, 1)
        ]
    return config


def vocabulary_files(name: str) -> list[str]:
    files = ("tokenizer.json", "tokenizer_config.json", "vocab.txt")
    return [f"results/vocabularies/{name}/{file}" for file in files]


def vocabulary(config: Mapping, vocabulary: str) -> Request:
    if vocabulary not in config["vocabularies"]:
        raise UserError(f"no vocabulary '{vocabulary}'; known: {', '.join(config['vocabularies'])}.")
    how = config["vocabularies"][vocabulary]
    return Request({"corpus": config["corpora"][how["corpus"]]}, how)


def pretrain(config: Mapping, base: str, init: str) -> Request:
    how = config["bases"][base]["pretrain"]
    return Request(
        {"corpus": config["corpora"][how["corpus"]], "tokenizer": vocabulary_files(how["vocabulary"])},
        {key: value for key, value in how.items() if key != "runs"},
    )


def checkpoint(config: Mapping, base: str, init: str) -> Request:
    entry = config["bases"][base]
    sources = entry["checkpoints"]
    if not 1 <= int(init) <= len(sources):
        raise UserError(f"bases.{base}.checkpoints lists {len(sources)} run(s); there is no init{init}.")
    # Another label is no other checkpoint.
    source = {key: value for key, value in sources[int(init) - 1].items() if key != "label"}
    if "path" in source:
        folder = Path(source["path"]).expanduser()
        if not folder.is_dir():
            raise UserError(f"bases.{base}.checkpoints: there is no folder {folder}.")
        source["stamps"] = stamps(sorted(file for file in folder.iterdir() if file.is_file()))
    shape = {key: entry[key] for key in ("layers", "heads")}
    return Request(settings={"source": source, "shape": shape, "cache": config["data"]["cache"]})


def derive(config: Mapping, model: str, init: str) -> Request:
    run = run_named(config, model, init)
    return Request({"start": files([run.checkpoint])}, [variant.text for variant in run.model.variants])
