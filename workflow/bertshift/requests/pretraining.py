"""Vocabularies, pretraining, checkpoints that were pretrained elsewhere, and models that are made
without training."""

from collections.abc import Mapping
from pathlib import Path

from bertshift.errors import UserError
from bertshift.models import published
from bertshift.models.families import FAMILIES
from bertshift.models.source import as_asked_before
from bertshift.naming import Run
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


def corpus_of_vocabulary(config: Mapping, vocabulary: str) -> str:
    """Name the file that a vocabulary is learnt from. Raise UserError for a vocabulary that is
    not in the configuration, and for special tokens that word pieces have not."""
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
    return config["corpora"][entry["corpus"]]


def corpus(config: Mapping, base: str) -> str:
    return config["corpora"][config["bases"][base]["pretrain"]["corpus"]]


def vocabulary(config: Mapping, base: str) -> str:
    """Name the vocabulary of a checkpoint. Raise UserError for one that does not fit its
    family."""
    pretraining = config["bases"][base]["pretrain"]
    name = pretraining["vocabulary"]
    _check_vocabulary(base, pretraining["family"], name, config["vocabularies"][name])
    return name


def how_pretrained(config: Mapping, base: str) -> dict:
    pretraining = config["bases"][base]["pretrain"]
    return {key: value for key, value in pretraining.items() if key != "runs"}


def random_seed(config: Mapping, base: str, init: str) -> int:
    return seed_from("pretrain", base, init)


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


def entry_of(config: Mapping, base: str, init: str) -> dict:
    """Return where a checkpoint comes from. Raise UserError for one that the configuration does
    not list."""
    sources = config["bases"][base]["checkpoints"]
    if not 1 <= int(init) <= len(sources):
        raise UserError(
            f"bases.{base}.checkpoints lists {len(sources)} run(s); there is no init{init}."
        )
    source = dict(sources[int(init) - 1])
    source.pop("label", None)  # another label does not make another checkpoint
    return source


def shape(config: Mapping, base: str) -> dict[str, int]:
    return {key: config["bases"][base][key] for key in ("layers", "heads")}


def contents_of_checkpoint(config: Mapping, base: str, init: str) -> dict[str, str]:
    """Digest the files of a checkpoint's own folder. Raise UserError where they are not those of
    an encoder of the shape that the configuration says."""
    source = entry_of(config, base, init)
    if "path" not in source:
        return {}
    folder = Path(source["path"]).expanduser()
    if not folder.is_dir():
        raise UserError(f"bases.{base}.checkpoints: there is no folder {folder}.")
    published.check(folder, shape(config, base))
    return contents(str(file) for file in sorted(folder.iterdir()) if file.is_file())


def seed_of_noise(config: Mapping, run: Run) -> int:
    imitated = run.imitated
    return seed_from("noise", str(imitated.model), imitated.init, imitated.seed, run.draw)
