import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from bertshift.data import conllu, glue_tsv, plain_text, squad_json
from bertshift.data.attempts import ATTEMPTS, count_attempts
from bertshift.errors import UserError
from bertshift.files import sha256

COLUMNS = {
    "qa": ("id", "question", "context", "answers"),
    "treebank": ("id", "text", "words", "upos", "xpos", "heads", "deprels"),
    "text": ("text",),
}


def read(
    name: str, spec: Mapping, cache: Path | None
) -> tuple[dict[str, tuple[Iterator[dict], Counter]], dict[str, str]]:
    """Read the rows of every split in `spec["hub"]["splits"]`, and the SHA-256 of the files they
    are from.

    Each split's rows come with a count of their irregularities, which is complete once the rows
    are read. UserError for a revision that is not a commit's SHA, that the hub lacks or that it
    could not serve in `ATTEMPTS` attempts, for a missing column, and for rows that the data set's
    format does not allow.
    """
    hub = spec["hub"]
    if not re.fullmatch(r"[0-9a-f]{40}", hub["revision"]):
        raise UserError(
            f"The data set {name!r} pins the revision {hub['revision']!r}; "
            "write the 40-digit commit sha, which cannot move."
        )
    builder, checksums = _fetch_with_retries(hub, cache)
    tables = _stream_splits(hub, builder) if "rows" in hub else _prepare_splits(hub, builder)
    splits = {}
    for split, (table, features) in tables.items():
        counts = Counter()
        splits[split] = _convert_rows(spec, split, table, features, counts), counts
    return splits, checksums


def _fetch_with_retries(hub: Mapping, cache: Path | None) -> tuple:
    """Call `_fetch_files` at most `ATTEMPTS` times, and return what it returns."""
    # `datasets` takes seconds to import, and only these functions need it.
    from datasets.exceptions import DataFilesNotFoundError, DatasetNotFoundError

    where = name_revision(hub)
    for attempt in count_attempts():
        try:
            # Files that a failed attempt left in the cache may have made it fail.
            return _fetch_files(hub, cache, force=attempt > 1)
        except (DatasetNotFoundError, DataFilesNotFoundError) as error:
            raise UserError(
                f"The hub has no {where} ({_first_line(error)}); correct `hub` in the catalogue."
            ) from error
        except Exception as error:  # the layers below raise errors of a dozen unrelated classes
            if type(error) is ValueError:  # raised for an unknown name
                raise UserError(
                    f"The hub's {where}: {_first_line(error)}; correct `hub` in the catalogue."
                ) from error
            last = error
    raise _make_delivery_error(where, last) from last


def name_revision(hub: Mapping) -> str:
    return f"{hub['id']}@{hub['revision']}"


def _make_delivery_error(where: str, error: Exception) -> UserError:
    return UserError(
        f"The hub did not deliver {where} in {ATTEMPTS} attempts ({_describe_cause(error)}); "
        "check the connection and try again, or set a mirror directory."
    )


def _fetch_files(hub: Mapping, cache: Path | None, force: bool) -> tuple:
    """Fetch the configuration's files into the cache, unless they are streamed; return (builder,
    {file: SHA-256})."""
    import datasets

    builder = datasets.load_dataset_builder(
        hub["id"],
        hub.get("name"),
        data_files=hub.get("data_files"),
        revision=hub["revision"],
        cache_dir=None if cache is None else str(cache),
    )
    files = [url for split in (builder.config.data_files or {}).values() for url in split]
    if not files or not all(f"@{hub['revision']}/" in url for url in files):
        # If the hub does not answer, `datasets` takes any other revision in its cache.
        raise ConnectionError("neither the hub nor the cache has this revision")
    # hf://datasets/<owner>/<name>@<revision>/<path>
    paths = [url.partition(f"@{hub['revision']}/")[2] for url in files]
    declared = _read_declared_checksums(hub, paths)
    if "rows" in hub:
        return builder, declared
    return builder, {path: _download_file(hub, path, declared.get(path), force) for path in paths}


def _stream_splits(hub: Mapping, builder) -> dict[str, tuple]:
    """Stream the first rows of every split, which are fetched as they are read; add the split's
    features."""
    tables = {}
    for split, name_on_hub in hub["splits"].items():
        stream = builder.as_streaming_dataset(split=name_on_hub)
        tables[split] = _stream_rows(stream, hub["rows"], name_revision(hub)), stream.features
    return tables


def _stream_rows(stream, number: int, where: str) -> Iterator[dict]:
    """Stream the first `number` rows. A stream that breaks off is resumed at the same row."""
    done = 0
    for _ in count_attempts():
        try:
            for row in stream.skip(done).take(number - done):
                yield row
                done += 1
            return
        except Exception as error:  # noqa: BLE001 - as in `_fetch_with_retries`
            last = error
    raise _make_delivery_error(where, last) from last


def _prepare_splits(hub: Mapping, builder) -> dict[str, tuple]:
    """Prepare the rows of every split; add its features. UserError where the files are not as the
    hub declares them."""
    from datasets.exceptions import DatasetsError

    try:
        builder.download_and_prepare()
        tables = {
            split: builder.as_dataset(split=name_on_hub)
            for split, name_on_hub in hub["splits"].items()
        }
    except (DatasetsError, ValueError) as error:
        raise UserError(
            f"The files of the hub's {name_revision(hub)} are not what its card and `hub`"
            f" in the catalogue say ({_describe_cause(error)}); correct the entry or pin another"
            " revision."
        ) from error
    return {split: (table, table.features) for split, table in tables.items()}


def _read_declared_checksums(hub: Mapping, paths: list[str]) -> dict[str, str]:
    """Read the SHA-256 by which the hub stores large files. It stores small ones in git, without
    a SHA-256."""
    from huggingface_hub import HfApi

    infos = HfApi().get_paths_info(hub["id"], paths, revision=hub["revision"], repo_type="dataset")
    return {info.path: info.lfs.sha256 for info in infos if info.lfs}


def _download_file(hub: Mapping, path: str, declared: str | None, force: bool) -> str:
    """Bring the file into the hub client's cache, where `datasets` finds it, and return its
    SHA-256."""
    from huggingface_hub import hf_hub_download

    file = hf_hub_download(
        hub["id"], path, revision=hub["revision"], repo_type="dataset", force_download=force
    )
    checksum = sha256(file)
    if declared not in (None, checksum):
        raise OSError(f"{path} arrived with another SHA-256 than the hub declares")
    return checksum


def _describe_cause(error: BaseException) -> str:
    cause = error.__cause__ or error
    return f"{type(cause).__name__}: {_first_line(cause)}"


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__


def _convert_rows(
    spec: Mapping, split: str, table: Iterable[dict], features, counts: Counter
) -> Iterator[dict]:
    hub, kind = spec["hub"], spec["kind"]
    table_name = f"{name_revision(hub)}, split {split}"
    columns = {key: key for key in COLUMNS.get(kind, ())} | hub.get("columns", {})
    missing = sorted(set(columns.values()) - set(features))
    if missing:
        raise UserError(
            f"The hub's {table_name}, has no column"
            f" {missing[0]!r}, only {', '.join(features)}; correct `hub.columns` in the catalogue."
        )
    decoded = (
        {column: _decode_classes(row[column], features[column]) for column in columns.values()}
        for row in table
    )
    if kind == "text":
        texts = (row[columns["text"]] for row in decoded)
        yield from plain_text.rows(texts, spec.get("min_words", 1), counts)
        return
    for number, values in enumerate(decoded, 1):
        where = f"{table_name}, row {number}"
        fields = {key: values[column] for key, column in columns.items()}
        if kind == "qa":
            row = _make_question(fields, hub, counts, where)
        elif kind == "treebank":
            row = _make_tree(fields, counts, where)
        else:
            row = glue_tsv.example(values, columns, spec, where)
            counts["without a label"] += row is None
        if row is not None:
            yield row


def _decode_classes(value, feature):
    """Replace the numbers by which the hub stores classes by their names. A missing label, -1,
    stays a number."""
    item_feature = getattr(feature, "feature", feature)
    if not hasattr(item_feature, "int2str"):
        return value
    if isinstance(value, Sequence):
        return [_decode_classes(item, item_feature) for item in value]
    if value is None or value < 0:
        return value
    return item_feature.int2str(value)


def _make_question(fields: Mapping, hub: Mapping, counts: Counter, where: str) -> dict | None:
    texts, starts = fields["answers"]["text"], fields["answers"]["answer_start"]
    answers = list(zip(texts, starts, strict=True))
    impossible = bool(hub.get("unanswerable")) and not answers
    fields = {**fields, "answers": answers, "impossible": impossible}
    return squad_json.example(fields, counts, where)


def _make_tree(fields: Mapping, counts: Counter, where: str) -> dict | None:
    if conllu.is_blanked(fields["words"], fields["upos"]):
        counts[conllu.BLANKED] += 1
        return None
    heads = [str(head) for head in fields["heads"] or ()]
    if not all(head.isdecimal() for head in heads):
        raise UserError(f"{where}: the heads are not all numbers; fetch the treebank again.")
    return conllu.check({**fields, "heads": [int(head) for head in heads]}, where)
