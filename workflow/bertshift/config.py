"""The configuration: merged from its files, its defaults filled in, and checked before anything
runs."""

import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from copy import deepcopy
from datetime import date
from pathlib import Path

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import create, extend
from yaml.composer import ComposerError

from bertshift.errors import UserError
from bertshift.files import read_text
from bertshift.naming import parse_model, shape_of
from bertshift.replicates import inits_of
from bertshift.running.redaction import redact
from bertshift.suggestions import similar_names

SCALES = ("demo", "small", "paper")
CATALOGUES = {
    "datasets": "datasets.yaml",
    "edge_sets": "edges.yaml",
    "relations": "relations.yaml",
}
# Values that several keys of a file share, as YAML's anchors; nothing else reads them.
ANCHORS = "anchors"
# The kinds of rows that a task's data set may have, and the key of the data set that describes
# labels.
_ROWS_OF = {
    "classification": (("sentence", "pair"), "labels"),
    "regression": (("sentence", "pair"), "range"),
    "spans": (("qa",), None),
    "tags": (("treebank",), None),
    "dependencies": (("treebank",), None),
}
# Mistakes in a name or a word, by what they are found in.
_HARMLESS = {"additionalProperties": dict, "enum": str, "pattern": str}
# Only one of these siblings can hold: setting one replaces the other of the scale below it.
_ALTERNATIVES = [("pretrain", "checkpoints")]


def load_config(user: Mapping, root: Path) -> dict:
    """Load the complete configuration: the catalogues of data, the scale's file on top, then
    `user`'s keys.

    `user` is config/experiments.yaml with whatever --configfile and --config added. With a key
    `experiments` it lies on top of the file that the key names. Scales and catalogues that stand
    beside that file go before those of the workflow in `root`. Defaults of the schema are filled
    in. Raises UserError with one sentence a problem: the key's path, its value, what to write
    instead.
    """
    user, files = located(user, root)
    catalogue = {key: read_catalogue(files[key]) for key in CATALOGUES}
    merged = merge(merge(catalogue, read_yaml(files["scale"])), user)
    problems: list[str] = []
    config = _with_text_keys(_without_anchors(merged), "", problems)
    schema = read_schema(root / "workflow/schemas")
    errors = filter(_tells_more, _filling_validator(schema).iter_errors(config))
    errors = sorted(errors, key=lambda error: list(map(str, error.absolute_path)))
    problems += map(_sentence, errors)
    problems += _secrets(merged, "")
    if all(map(_is_harmless, errors)):
        problems += [*_undefined_names(config, schema), *_misfits(config)]
    refuse(problems)
    for spec in config["datasets"].values():
        if "mirror" in spec:
            files = spec["mirror"].items()
            spec["mirror"] = {
                split: [each] if isinstance(each, str) else each for split, each in files
            }
    return config


def located(user: Mapping, root: Path) -> tuple[dict, dict[str, Path]]:
    """Lay `user` over the file that its `experiments` names, and find what else `load_config`
    reads: files by their keys."""
    folders, files = [root / "config"], {}
    if named := user.get("experiments"):
        file = files["experiments"] = Path(str(named))
        if not file.is_file():
            raise UserError(
                f"experiments: {file.absolute()} does not exist; name the file that holds the"
                " settings."
            )
        user = merge(
            read_yaml(file), {key: value for key, value in user.items() if key != "experiments"}
        )
        folders.insert(0, file.parent)
    scale = user.get("scale", "demo")
    if scale not in SCALES:
        raise UserError(f"scale: {scale!r} is not a scale; write one of {', '.join(SCALES)}.")
    for key, name in {"scale": f"scales/{scale}.yaml", **CATALOGUES}.items():
        files[key] = next(file for folder in folders if (file := folder / name).is_file())
    return dict(user), files


def read_catalogue(path: Path) -> dict:
    """Read the entries of a catalogue by their names. Raise UserError as `read_yaml`."""
    return _without_anchors(read_yaml(path))


def _without_anchors(keys: Mapping) -> dict:
    return {key: value for key, value in keys.items() if key != ANCHORS}


def refuse(problems: Iterable[str]) -> None:
    """Raise UserError with each of these sentences once, if there are any."""
    if told := dict.fromkeys(problems):
        raise UserError(
            "\n".join(["the configuration cannot be used as it is:", *(f"  {p}" for p in told)])
        )


def undefined(path: str, name: str, known: Collection[str], kind: str) -> Iterator[str]:
    """Yield a sentence with the nearest names if `name`, which stands at key `path`, is not among
    `known`."""
    if name not in known:
        near = similar_names(str(name), known, 3, 0.3) or list(known)
        yield f"{path}: no {kind} '{name}' is defined; write one of {', '.join(near)}."


def unusable(path: str, parse: Callable, *names) -> Iterator[str]:
    """Report why `parse` refuses these names, which stand at key `path`."""
    try:
        parse(*names)
    except UserError as error:
        yield f"{path}: {error}"


def merge(below: Mapping, above: Mapping) -> dict:
    """Lay `above` over `below`: merge mappings at every depth, replace everything else."""
    merged = dict(deepcopy(below))
    for pair in _ALTERNATIVES:
        for key, other in (pair, pair[::-1]):
            if key in above and other not in above:
                merged.pop(other, None)
    for key, value in above.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = merge(merged[key], value) if both else deepcopy(value)
    return merged


def canonical(value) -> str:
    """Return one string for one setting, whatever the order of its keys; Snakemake compares it to
    see a change."""
    return json.dumps(value, sort_keys=True)


# Written in C where that can be had: ten times as fast.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MERGE = "tag:yaml.org,2002:merge"


def read_yaml(path: Path) -> dict:
    """Read the keys of a YAML file. Raise UserError if it is not YAML or has a key twice, with the
    line, or if it has no keys at its top level."""
    found = _read(read_text(path), str(path))
    if not isinstance(found, dict):
        raise UserError(f"{path} has no keys at its top level; write lines such as 'scale: demo'.")
    return found


def on_command_line(entries: Iterable[str]) -> dict:
    """Read the mappings and lists that `--config key=value ...` gives, as a file would give them.

    Snakemake takes all that they hold for text. UserError for a value that is not YAML or has a
    key twice.
    """
    given: dict = {}
    for key, _, text in (entry.partition("=") for entry in entries):
        value = _read(text, f"--config {key}")
        if isinstance(value, (dict, list)):
            given = merge(given, {key: value})
    return given


def _read(text: str, place: str):
    """Read a text in YAML. Raise UserError, with the place, if it is not YAML or has a key
    twice."""
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if twice := next(_second_keys(node), None):
            raise UserError(
                f"{place}, line {twice.start_mark.line + 1}: the key '{twice.value}' stands twice;"
                " write it once."
            )
        return node and loader.construct_document(node)
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date that there is not
        reason = _undefined_alias(error, text) or f"{_place_and_reason(error)}; correct it there."
        raise UserError(f"{place}, {reason}") from error


def _undefined_alias(error: Exception, text: str) -> str:
    """Name an alias that stands for nothing, which YAML's reader in C does not; "" for another
    error."""
    if not isinstance(error, ComposerError) or "undefined alias" not in error.problem:
        return ""
    line, column = error.problem_mark.line, error.problem_mark.column
    name = re.match(r"[^\s,\[\]{}]*", text.splitlines()[line][column + 1 :])[0]
    return (
        f"line {line + 1}: *{name} stands for nothing, as no &{name} is above it; write the value"
        f" itself, or '{name}: &{name}' with the value under '{ANCHORS}', at the top of the file."
    )


def _second_keys(node: yaml.Node) -> Iterator[yaml.ScalarNode]:
    """Find keys that their mapping already has: YAML's readers take the last and say nothing.

    The key << is another thing: it merges mappings, and of two they take both.
    """
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    keys = [key for key, _ in pairs if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE]
    yield from (
        key for n, key in enumerate(keys) if key.value in {each.value for each in keys[:n]}
    )
    for below in [value for _, value in pairs] or (
        node.value if isinstance(node, yaml.SequenceNode) else []
    ):
        yield from _second_keys(below)


def _place_and_reason(error: Exception) -> str:
    if not isinstance(error, yaml.MarkedYAMLError):
        return " ".join(str(error).split())
    line = error.problem_mark.line + 1
    begun = error.context_mark.line + 1 if error.context_mark else line
    where = f"line {line}" if begun == line else f"line {line} (or {begun}, where it began)"
    return f"{where}: this is not YAML: {', '.join(filter(None, (error.context, error.problem)))}"


def _with_text_keys(value, path: str, problems: list[str]):
    """Copy the value with text for every key; keys that YAML reads as a number, or as yes or no,
    join `problems`."""
    if isinstance(value, list):
        return [_with_text_keys(item, f"{path}.{i}", problems) for i, item in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    problems += [
        f"{path.lstrip('.') or 'the top level'}: the key {_not_text(key)}"
        for key in value
        if not isinstance(key, str)
    ]
    return {
        str(key): _with_text_keys(below, f"{path}.{key}", problems) for key, below in value.items()
    }


def _not_text(value) -> str:
    """Say how YAML came to something else than text, and what to write."""
    if isinstance(value, bool):
        words, word = ("yes, on or true", "yes") if value else ("no, off or false", "no")
        return (
            f"{value} is not text; YAML reads an unquoted {words} so. Write it in quotes, as"
            f' "{word}".'
        )
    kind = "a number" if isinstance(value, (int, float)) else f"a {type(value).__name__}"
    return f'{value} is not text; YAML reads it as {kind}. Write it in quotes, as "{value}".'


def _secrets(value, path: str) -> Iterator[str]:
    """Report values that look like a password or a token: the configuration stands in tables and
    archives."""
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield from _secrets(below, f"{path}.{key}")
    elif isinstance(value, list):
        for number, below in enumerate(value):
            yield from _secrets(below, f"{path}.{number}")
    elif isinstance(value, str) and (shown := redact(value)) != value:
        yield (
            f"{path.lstrip('.')}: {shown!r} holds what may be a password or a token, and the"
            " configuration stands in tables and archives; leave it out."
        )


def read_schema(folder: Path) -> dict:
    """Read the schema of the whole configuration, with the catalogues' schemas in the places that
    refer to them."""
    schema = read_yaml(folder / "config.schema.yaml")

    def catalogue(file: str) -> dict:
        # Below a schema that names its dialect, jsonschema goes on with that dialect's validator
        # instead of ours.
        return {key: value for key, value in read_yaml(folder / file).items() if key != "$schema"}

    keys = {
        key: catalogue(entry["$ref"]) if "$ref" in entry else entry
        for key, entry in schema["properties"].items()
    }
    return schema | {"properties": keys}


def _filling_validator(schema: dict) -> Draft202012Validator:
    check_properties = Draft202012Validator.VALIDATORS["properties"]

    def fill_then_check(validator, properties, instance, schema):
        if isinstance(instance, dict):
            for key, property_schema in properties.items():
                if "default" in property_schema:
                    instance.setdefault(key, deepcopy(property_schema["default"]))
        yield from check_properties(validator, properties, instance, schema)

    # YAML has .nan and .inf, with which nothing can be computed.
    known = Draft202012Validator.TYPE_CHECKER
    types = known.redefine(
        "number", lambda _, value: known.is_type(value, "number") and math.isfinite(value)
    )
    return extend(Draft202012Validator, {"properties": fill_then_check}, type_checker=types)(
        schema
    )


def _tells_more(error: ValidationError) -> bool:
    """Tell whether the error says more than that keys were expected, which another error says of
    the same value."""
    return error.validator != "oneOf" or isinstance(error.instance, dict)


def _is_harmless(error: ValidationError) -> bool:
    """Tell whether the configuration, with this error, can still be searched for names that are
    not defined."""
    return isinstance(error.instance, _HARMLESS.get(error.validator, ()))


def _sentence(error: ValidationError) -> str:
    path = ".".join(map(str, error.absolute_path)) or "the top level"
    value, schema = error.instance, error.schema
    if error.validator == "additionalProperties":
        known = list(schema.get("properties", {}))
        unknown = [key for key in value if key not in known]
        near = [similar_names(key, known, 1, 0.5) for key in unknown]
        hints = [
            f"'{key}'" + (f" (write '{match[0]}')" if match else "")
            for key, match in zip(unknown, near)
        ]
        return f"{path}: unknown key {', '.join(hints)}; the keys here are {', '.join(known)}."
    if error.validator == "required":
        missing = [key for key in error.validator_value if key not in value]
        return (
            f"{path}: {', '.join(missing)} is missing;"
            f" {_meaning(schema.get('properties', {}).get(missing[0], {}))}."
        )
    meaning = f" ({_meaning(schema)})" if "description" in schema else ""
    if error.validator == "type":
        types = (
            [error.validator_value]
            if isinstance(error.validator_value, str)
            else error.validator_value
        )
        if isinstance(value, str) and _looks_numeric(value) and {"integer", "number"} & {*types}:
            return f"{path}: '{value}' is text to YAML; write {_as_yaml_number(value)}."
        if isinstance(value, (bool, int, float, date)) and "string" in types:
            return f"{path}: {_not_text(value)}"
        wanted = " or ".join(_TYPES[name] for name in types)
        if value is None:
            return (
                f"{path}: nothing is written here; write {wanted}{meaning}, or leave the key out."
            )
        return f"{path}: {value!r} does not fit; write {wanted}{meaning}."
    if error.validator == "enum":
        return f"{path}: {value!r} is not possible; write {_one_of(error.validator_value, value)}."
    if error.validator == "oneOf":
        options = [option.get("required", []) for option in error.validator_value]
        begun = [option for option in options if any(key in value for key in option)]
        there = ", ".join(key for option in begun for key in option if key in value)
        if len(begun) == 1:
            missing = ", ".join(key for key in begun[0] if key not in value)
            return f"{path}: write {missing} beside {there}."
        found = f"it has {there}" if there else "it has none"
        return (
            f"{path}: must have exactly one of: {' or '.join(map(', '.join, options))}; {found}."
        )
    if error.validator in _LIMITS:
        limit = _LIMITS[error.validator].format(error.validator_value)
        return f"{path}: {value!r} does not fit; write {limit}{meaning}."
    return (
        f"{path}: {value!r} does not fit; expected {error.validator}"
        f" {error.validator_value}{meaning}."
    )


_LIMITS = {
    "minimum": "{} or more",
    "maximum": "{} or less",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "minItems": "{} or more of them",
    "maxItems": "{} or fewer of them",
    "minProperties": "{} keys or more",
    "uniqueItems": "each once",
}
_TYPES = {
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "boolean": "true or false",
    "array": "a list",
    "object": "keys with values",
    "null": "null",
}


def _one_of(possible: list, value) -> str:
    near = similar_names(str(value), map(str, possible), 1, 0.5)
    known = ", ".join(map(str, possible))
    if len(possible) == 1:
        return known
    return f"one of {known}" + (f"; the nearest is '{near[0]}'" if near else "")


def _meaning(schema: Mapping) -> str:
    """Return the first sentence of a key's description; the rest is for the guide."""
    return re.split(r"\.(?: (?=[A-Z`\[])|$)", schema.get("description", "add it"))[0]


def _looks_numeric(text: str) -> bool:
    return re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text) is not None


def _as_yaml_number(text: str) -> str:
    mantissa, _, exponent = text.lower().partition("e")
    if not exponent:
        return text
    sign = "" if exponent[0] in "+-" else "+"
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{sign}{exponent}"


def _undefined_names(config: dict, schema: dict) -> Iterator[str]:
    """Report values that name what is not defined, where the schema says what they must name."""

    def check(validator, names: Mapping, value, schema) -> Iterator[ValidationError]:
        if names["a"] == "model":
            told = unusable("", parse_model, value, config)
        else:
            known = [name for key in names["in"] for name in config[key]]
            told = undefined("", value, [*names.get("or", []), *known], names["a"])
        yield from map(ValidationError, told)

    kept = ("properties", "additionalProperties", "propertyNames", "items")
    keywords = {key: Draft202012Validator.VALIDATORS[key] for key in kept} | {"names": check}
    validator = create(schema, keywords)(schema)
    for error in validator.iter_errors(config):
        yield ".".join(map(str, error.absolute_path)) + error.message


def _misfits(config: dict) -> Iterator[str]:
    """Report keys that fit the schema, but not each other."""
    source = config["data"]["source"]
    needed = {"mirror": config["data"].get("mirror"), "world": config.get("world"), "hub": True}
    if not needed.get(source, True):
        key = "data.mirror" if source == "mirror" else source
        yield f"{key}: is missing; data.source {source} needs it."
    for name, task in config["tasks"].items():
        if name in config["bases"]:
            yield f"tasks.{name}: is a checkpoint's name too; give the task another."
        if task["dataset"] in config["datasets"] and task["kind"] in _ROWS_OF:
            yield from _task_without_its_data(name, task, config)
    for name, base in config["bases"].items():
        yield from _strange_base(name, base)
        if base.get("parent") in config["bases"]:
            yield from _strange_parent(name, config["bases"])
    for name, stimulus in config["stimuli"].items():
        if splits := _splits(stimulus["dataset"], config):
            kind = f"split of '{stimulus['dataset']}'"
            yield from undefined(f"stimuli.{name}.split", stimulus["split"], splits, kind)
    yield from _portions(config)


def _portions(config: dict) -> Iterator[str]:
    """Report shares of training records that are no ends of consecutive blocks."""
    mdl = config["probes"]["mdl"]
    tasks = {f"probes.mdl.tasks.{name}": own for name, own in mdl.get("tasks", {}).items()}
    for path, own in ({"probes.mdl": mdl} | tasks).items():
        portions = own.get("portions", [1])
        if portions[-1:] != [1] or portions != sorted(set(portions)):
            yield f"{path}.portions: {portions} does not fit; write rising shares that end with 1."


def _strange_base(name: str, base: Mapping) -> Iterator[str]:
    pretrain = base.get("pretrain", {"width": 0, "heads": 1})
    if pretrain["width"] % pretrain["heads"]:
        yield (
            f"bases.{name}.pretrain.width: {pretrain['width']} cannot be divided among"
            f" {pretrain['heads']} heads; write a multiple of {pretrain['heads']}."
        )
    if inits_of(base) < 1:
        yield f"bases.{name}.checkpoints: is empty; list one checkpoint for each pretraining run."


def lineage(base: str, bases: Mapping) -> list[str]:
    """List a checkpoint, its `parent`, that one's parent and so on; if they never end, the last
    name occurs twice."""
    names = [base]
    while (parent := bases.get(names[-1], {}).get("parent")) and names.count(names[-1]) == 1:
        names.append(parent)
    return names


def _strange_parent(name: str, bases: Mapping) -> Iterator[str]:
    """Say why a checkpoint cannot be compared with the parent that it names, layer by layer, head
    by head and token by token."""
    names = lineage(name, bases)
    if names.count(names[-1]) > 1:
        yield (
            f"bases.{name}.parent: {', '.join(names)} never ends; leave out the parent of the"
            " checkpoint that came first."
        )
    parent = bases[name]["parent"]
    ours, theirs = (
        {**shape_of(base), "checkpoints": inits_of(base)} for base in (bases[name], bases[parent])
    )
    for key in ("layers", "heads", "vocabulary", "checkpoints"):
        if ours[key] != theirs[key]:
            yield (
                f"bases.{name}.parent: '{name}' has {key}: {ours[key]}, its parent '{parent}'"
                f" {theirs[key]}; name the checkpoint that it was trained from, with as many"
                " checkpoints as it has."
            )


def _splits(dataset: str, config: Mapping) -> list[str]:
    """List the splits that a data set's entry names for the place where data come from; empty if
    it names none."""
    spec = config["datasets"].get(dataset, {})
    return list(
        spec.get("hub", {}).get("splits", {})
        if config["data"]["source"] == "hub"
        else spec.get("mirror", {})
    )


def _task_without_its_data(name: str, task: Mapping, config: Mapping) -> Iterator[str]:
    """Report where a task and its data set do not fit together."""
    dataset, kind = task["dataset"], task["kind"]
    spec, (kinds, key) = config["datasets"][dataset], _ROWS_OF[kind]
    splits = _splits(dataset, config)
    labels = set(spec.get("labels", {}).values())
    if spec["kind"] not in kinds:
        yield (
            f"tasks.{name}.kind: {kind} needs a data set of kind {' or '.join(kinds)}; "
            f"datasets.{dataset} is of kind {spec['kind']}."
        )
    elif key and key not in spec:
        other = "regression" if key == "labels" else "classification"
        yield (
            f"tasks.{name}.kind: {kind} needs '{key}', which datasets.{dataset} has not; add it,"
            f" or write {other}."
        )
    elif kind == "classification" and "f1" in task["metrics"] and len(labels) != 2:
        yield (
            f"tasks.{name}.metrics: f1 needs two labels, datasets.{dataset} has {len(labels)};"
            " write macro_f1."
        )
    elif (
        kind == "classification"
        and task["metrics"][0] == "f1"
        and "accuracy" not in task["metrics"]
    ):
        yield (
            f"tasks.{name}.metrics: f1 does not tell whether a run failed to train; add accuracy"
            " after it."
        )
    for split in ("train", "dev"):
        if splits and split not in splits:
            yield (
                f"tasks.{name}.dataset: datasets.{dataset} has no {split} split, only"
                f" {', '.join(splits)}; add it."
            )
