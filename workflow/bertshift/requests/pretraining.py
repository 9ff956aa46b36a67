"""Vocabularies, pretraining, checkpoints that were pretrained elsewhere, and models that are made
without training."""

from collections.abc import Mapping
from pathlib import Path

from bertshift.errors import UserError
from bertshift.models import published
from bertshift.models.families import FAMILIES
from bertshift.models.source import as_asked_before
from bertshift.requests import Request
from bertshift.requests.runs import WEIGHTS, files, run_named
from bertshift.running.own_files import contents
from bertshift.seeds import seed_from

CHECKPOINT = "results/pretrained/{base}/init{init}"


def pretrained_here(config: Mapping) -> list[str]:
    return [name for name, base in config["bases"].items() if "pretrain" in base]


def pretrained_elsewhere(config: Mapping) -> list[str]:
    return [name for name, base in config["bases"].items() if "pretrain" not in base]


def with_known_commits(config: dict) -> dict:
    """Restore each checkpoint's entry as it was when its folder was made, if it still means the
    same commit."""
    for name in pretrained_elsewhere(config):
        checkpoints = config["bases"][name]["checkpoints"]
        for index, entry in enumerate(checkpoints):
            folder = CHECKPOINT.format(base=name, init=index + 1)
            checkpoints[index] = as_asked_before(entry, folder)
    return config


def vocabulary_files(name: str) -> list[str]:
    folder = f"results/vocabularies/{name}"
    return [f"{folder}/tokenizer.json", f"{folder}/tokenizer_config.json"]


def vocabulary(config: Mapping, vocabulary: str) -> Request:
    if vocabulary not in config["vocabularies"]:
        raise UserError(
            f"no vocabulary '{vocabulary}'; known: {', '.join(config['vocabularies'])}."
        )
    entry = config["vocabularies"][vocabulary]
    if "special" in entry and entry["kind"] == "wordpiece":
        raise UserError(
            f"vocabularies.{vocabulary}.special: word pieces have BERT's special tokens; write"
            " kind: byte_bpe, or leave it out."
        )
    return Request({"corpus": config["corpora"][entry["corpus"]]}, {"how": entry})


def pretrain(config: Mapping, base: str, init: str) -> Request:
    pretraining = config["bases"][base]["pretrain"]
    name = pretraining["vocabulary"]
    _check_vocabulary(base, pretraining["family"], name, config["vocabularies"][name])
    return Request(
        {
            "corpus": config["corpora"][pretraining["corpus"]],
            "tokenizer": vocabulary_files(name),
        },
        {
            "how": {key: value for key, value in pretraining.items() if key != "runs"},
            "seed": seed_from("pretrain", base, init),
        },
    )


def _check_vocabulary(base: str, family: str, name: str, vocabulary: Mapping) -> None:
    """Raise UserError for a family that cannot read texts as the vocabulary cuts them."""
    kind = vocabulary["kind"]
    if family == "bert" and kind != "wordpiece":
        fitting = "kind wordpiece"
    elif family == "mpnet" and kind != "byte_bpe":  # MPNet's padding has number 1
        fitting = "kind byte_bpe"
    elif not FAMILIES[family].causal and vocabulary.get("special", "roberta") != "roberta":
        fitting = "kind wordpiece, or byte_bpe with special: roberta"
    else:
        return
    raise UserError(
        f"bases.{base}.pretrain.vocabulary: '{name}' does not fit family {family}; name a"
        f" vocabulary of {fitting}."
    )


def checkpoint(config: Mapping, base: str, init: str) -> Request:
    entry = config["bases"][base]
    sources = entry["checkpoints"]
    if not 1 <= int(init) <= len(sources):
        raise UserError(
            f"bases.{base}.checkpoints lists {len(sources)} run(s); there is no init{init}."
        )
    shape = {key: entry[key] for key in ("layers", "heads")}
    source = dict(sources[int(init) - 1])
    source.pop("label", None)  # another label does not make another checkpoint
    weights = []
    if "path" in source:
        folder = Path(source["path"]).expanduser()
        if not folder.is_dir():
            raise UserError(f"bases.{base}.checkpoints: there is no folder {folder}.")
        published.check(folder, shape)
        weights = [str(file) for file in sorted(folder.iterdir()) if file.is_file()]
    return Request(
        settings={
            "source": source,
            "shape": shape,
            "contents": contents(weights),
        },
    )


def derive(config: Mapping, model: str, init: str) -> Request:
    run = run_named(config, model, init)
    return Request(
        {"start": files([run.checkpoint])},
        {"variants": [variant.text for variant in run.model.variants]},
    )


def noise(config: Mapping, model: str, init: str, seed: str) -> Request:
    """Ask for a run's parent with noise."""
    run = run_named(config, model, init, seed)
    imitated = run.imitated
    draw = ("noise", str(imitated.model), imitated.init, imitated.seed, run.draw)
    return Request(
        {"start": files([run.parent]), "changed": files([imitated], WEIGHTS)},
        {"seed": seed_from(*draw)},
    )
