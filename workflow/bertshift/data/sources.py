"""Where the data sets, edge corpora and sentences with relations lie: in the generated world, in a
folder of the user's, or among the downloads."""

from collections.abc import Mapping
from pathlib import Path

from bertshift.errors import UserError
from demo_world.files import FILES

WORLD = "results/world"
CORPORA = "results/corpora"


def mirror(config: Mapping) -> str | None:
    """Return the folder below which a data set's files lie; None for the hub."""
    data = config["data"]
    return {"world": WORLD, "mirror": data.get("mirror"), "hub": None}[data["source"]]


def mirror_of(config: Mapping) -> Path:
    """Return the folder of the user's own data. Raise UserError where data come from it and it
    does not exist."""
    data = config["data"]
    folder = Path(data.get("mirror") or "")
    if data["source"] == "mirror" and not folder.is_dir():
        raise UserError(
            f"data.mirror: {folder.absolute()} is not a folder; write the one that holds the data."
        )
    return folder


def mirror_files(config: Mapping, dataset: str) -> list[str]:
    """List one file a split: the first candidate in the generated world, the first existing one in
    a user's mirror; none for data of the hub."""
    entry, data = config["datasets"].get(dataset), config["data"]
    if entry is None:
        raise UserError(
            f"no data set '{dataset}'; config/datasets.yaml has {', '.join(config['datasets'])}."
        )
    if data["source"] == "hub":
        if "hub" not in entry:
            raise UserError(
                f"config/datasets.yaml: '{dataset}' has no 'hub'; write where on the hub it is, or"
                " set data.source to mirror."
            )
        return []
    splits = entry.get("mirror", {})
    if data["source"] == "world":
        files = [candidates[0] for candidates in splits.values()]
        if not files or not set(files) <= set(FILES):
            raise UserError(
                f"the generated world has no '{dataset}'; set data.source to mirror or hub (scale:"
                " small)."
            )
        return [f"{WORLD}/{file}" for file in files]
    alternative = ", or set data.source to hub" if "hub" in entry else ""
    if not splits:
        raise UserError(
            f"config/datasets.yaml: '{dataset}' has no 'mirror'; write which files below"
            f" data.mirror hold its splits{alternative}."
        )
    root = mirror_of(config)
    files, missing = [], []
    for split, candidates in splits.items():
        existing = [root / file for file in candidates if (root / file).is_file()]
        if existing:
            files.append(str(existing[0]))
        else:
            missing.append(f"{', '.join(candidates)} ({split} split of '{dataset}')")
    if missing:
        raise UserError(
            f"data.mirror: {root} has none of {'; none of '.join(missing)}; put the file"
            f" there{alternative}."
        )
    return files


def download_path(url: str) -> str:
    """Return the path of a download below CORPORA: its URL without the scheme."""
    return url.partition("://")[2]


def edge_downloads(config: Mapping) -> dict[str, dict]:
    """Collect the downloads of the catalogue's entries, by their paths below CORPORA."""
    entries = []
    for spec in config["edge_sets"].values():
        entries += spec.get("download", {}).values()
    entries.append(config["relations"]["download"])
    return {download_path(entry["url"]): entry for entry in entries}


def edge_set(task: str, config: Mapping) -> Mapping:
    return config["edge_sets"][config["edge_tasks"][task]]


def generated(name: str, config: Mapping) -> bool:
    return set(config["edge_sets"][name]["files"].values()) <= set(FILES)


def check_generated(config: Mapping) -> None:
    """Raise one UserError for all edge tasks whose edge sets the generated world does not have."""
    edge_sets = config["edge_sets"]
    missing = {
        task: name for task, name in config["edge_tasks"].items() if not generated(name, config)
    }
    if missing:
        tasks = {edge_sets[name]["task"] for name in missing.values()}
        alternatives = [
            name
            for name, spec in edge_sets.items()
            if spec["task"] in tasks and generated(name, config)
        ]
        names = ", ".join(dict.fromkeys(missing.values()))
        raise UserError(
            f"edge_tasks.{', '.join(missing)}: the generated world has no {names}; write"
            f" {', '.join(alternatives)}, or set data.source to mirror or hub (scale: small)."
        )


def edge_corpus(task: str, config: Mapping) -> tuple[str, str, dict[str, str]]:
    """Locate a task's corpus: (origin, folder, files in it).
    Snakemake makes the world's files, a mirror has the others, or they are downloaded."""
    spec, name = edge_set(task, config), config["edge_tasks"][task]
    if config["data"]["source"] == "world":
        check_generated(config)
        return "world", WORLD, spec["files"]
    if corpus := _find_corpus(spec, config):
        return corpus
    others = [
        other
        for other, other_spec in config["edge_sets"].items()
        if other_spec["task"] == spec["task"] and _find_corpus(other_spec, config)
    ]
    exchange = f"write {' or '.join(others)}, which can be had here, or " if others else ""
    if generated(name, config) and "download" not in spec:
        raise UserError(
            f"edge_tasks.{task}: only the generated world has {name}; {exchange}write another"
            " corpus of config/edges.yaml, or set data.source to world."
        )
    paths = [mirror_of(config) / file for file in spec["files"].values()]
    missing = [str(path) for path in paths if not path.exists()]
    advice = f"fetch it from {spec['url']} and put it" if "url" in spec else "put it"
    raise UserError(
        f"edge_tasks.{task}: {name} needs {', '.join(missing)}; {exchange}{advice} there, or set"
        " data.mirror to the folder that holds it."
    )


def _find_corpus(spec: Mapping, config: Mapping) -> tuple[str, str, dict[str, str]] | None:
    """Locate an edge set in the mirror or on the network, as `edge_corpus` does, or nowhere."""
    mirror = mirror_of(config)
    downloaded = {
        part: download_path(entry["url"]) for part, entry in spec.get("download", {}).items()
    }
    # A mirror may hold downloads too, under the paths that they have below results/corpora.
    for parts in (spec["files"], downloaded):
        if parts and all((mirror / file).exists() for file in parts.values()):
            return "mirror", str(mirror), parts
    if config["data"]["source"] == "hub" and downloaded:
        return "hub", CORPORA, downloaded
    return None


def relation_source(config: Mapping) -> tuple[str, str]:
    """Locate sentences with relations marked, of FrameNet, a user or the generated world: (file,
    origin)."""
    spec, data = config["relations"], config["data"]
    if spec["source"]:
        if not Path(spec["source"]).exists():
            raise UserError(
                f"relations.source: {spec['source']} does not exist; write where the sentences"
                " are."
            )
        return spec["source"], "mirror"
    if data["source"] == "world":
        return f"{WORLD}/heads/relations.jsonl", "world"
    mirror = mirror_of(config)
    # A mirror may hold the download too, under the path that it has below results/corpora.
    download = download_path(spec["download"]["url"])
    for file in [*spec["files"], download]:
        if (mirror / file).exists():
            return str(mirror / file), "mirror"
    if data["source"] == "hub":
        return f"{CORPORA}/{download}", "hub"
    raise UserError(
        f"data.mirror: {mirror} has none of {', '.join(spec['files'])}; fetch FrameNet 1.7 (python"
        " -m nltk.downloader -d FOLDER framenet_v17) and put it there, or set relations.source to"
        " where it is."
    )
