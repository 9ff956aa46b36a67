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

from bertshift import edits
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
# By kind of task: the kinds of rows that its data set may have, and the key of the data set that
# describes labels.
_TASK_ROWS = {
    "classification": (("sentence", "pair"), "labels"),
    "regression": (("sentence", "pair"), "range"),
    "spans": (("qa",), None),
    "tags": (("treebank",), None),
    "dependencies": (("treebank",), None),
}
# Checks of a name or a word, and the type of the value that they fail for.
_HARMLESS = {"additionalProperties": dict, "enum": str, "pattern": str}
# Only one of the two keys can hold: setting one removes the other of the scale below it.
_ALTERNATIVES = {"pretrain": "checkpoints", "checkpoints": "pretrain"}


def load_config(user: Mapping, root: Path) -> dict:
    """Load the complete configuration: the catalogues of data, the scale's file on top, then
    `user`'s keys.

    `user` is config/experiments.yaml with whatever --configfile and --config added. With a key
    `experiments` it lies on top of the file that the key names. Scales and catalogues in that
    file's folder go before those of the workflow in `root`. Defaults of the schema are filled in.
    UserError with one sentence a problem: the key's path, its value, what to write instead.
    """
    user, files = located(user, root)
    catalogues = {key: read_catalogue(files[key]) for key in CATALOGUES}
    scale = merge(catalogues, read_yaml(files["scale"]))
    merged = merge(scale, user)
    problems: list[str] = []
    config = _make_keys_text(_drop_anchors(merged), "", problems)
    schema = read_schema(root / "workflow/schemas")
    errors = [e for e in _filling_validator(schema).iter_errors(config) if _is_specific(e)]
    errors.sort(key=lambda error: list(map(str, error.absolute_path)))
    problems += map(_describe_error, errors)
    problems += _find_secrets(merged, "")
    if all(map(_is_harmless, errors)):
        problems += _find_undefined_names(config, schema)
        problems += _find_contradictions(config)
    refuse(problems)
    for spec in config["datasets"].values():
        for split, candidates in spec.get("mirror", {}).items():
            if isinstance(candidates, str):
                spec["mirror"][split] = [candidates]
    return config


def located(user: Mapping, root: Path) -> tuple[dict, dict[str, Path]]:
    """Lay `user` over the file that its `experiments` names, and locate the files that
    `load_config` reads, by their keys."""
    folders = [root / "config"]
    files: dict[str, Path] = {}
    user = dict(user)
    if experiments := user.get("experiments"):
        file = Path(str(experiments))
        if not file.is_file():
            raise UserError(
                f"experiments: {file.absolute()} does not exist; name the file that holds the"
                " settings."
            )
        del user["experiments"]
        user = merge(read_yaml(file), user)
        folders.insert(0, file.parent)
        files["experiments"] = file
    scale = user.get("scale", "demo")
    if scale not in SCALES:
        raise UserError(f"scale: {scale!r} is not a scale; write one of {', '.join(SCALES)}.")
    names = {"scale": f"scales/{scale}.yaml", **CATALOGUES}
    for key, name in names.items():
        candidates = [folder / name for folder in folders]
        files[key] = next(filter(Path.is_file, candidates))
    return user, files


def read_catalogue(path: Path) -> dict:
    """Read the entries of a catalogue by their names. UserError as `read_yaml`."""
    return _drop_anchors(read_yaml(path))


def _drop_anchors(keys: Mapping) -> dict:
    return {key: value for key, value in keys.items() if key != ANCHORS}


def refuse(problems: Iterable[str]) -> None:
    """Raise UserError with each of these sentences once, if there are any."""
    lines = [f"  {problem}" for problem in dict.fromkeys(problems)]
    if lines:
        raise UserError("\n".join(["the configuration cannot be used as it is:", *lines]))


def undefined(path: str, name: str, known: Collection[str], kind: str) -> Iterator[str]:
    """Yield a sentence with the nearest names if `name`, the value of key `path`, is not among
    `known`."""
    if name not in known:
        near = similar_names(str(name), known, 3, 0.3) or list(known)
        yield f"{path}: no {kind} '{name}' is defined; write one of {', '.join(near)}."


def unusable(path: str, parse: Callable, *names) -> Iterator[str]:
    """Report why `parse` refuses these names, the value of key `path`."""
    try:
        parse(*names)
    except UserError as error:
        yield f"{path}: {error}"


def merge(below: Mapping, above: Mapping) -> dict:
    """Lay `above` over `below`: merge mappings at every depth, replace everything else."""
    merged = dict(deepcopy(below))
    for key, alternative in _ALTERNATIVES.items():
        if key in above and alternative not in above:
            merged.pop(alternative, None)
    for key, value in above.items():
        if isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
            merged[key] = merge(merged[key], value)
        else:
            merged[key] = deepcopy(value)
    return merged


def canonical(value) -> str:
    """Return one string for one setting, whatever the order of its keys; Snakemake compares it to
    see a change."""
    return json.dumps(value, sort_keys=True)


# Written in C where that can be had: ten times as fast.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MERGE = "tag:yaml.org,2002:merge"


def read_yaml(path: Path) -> dict:
    """Read the keys of a YAML file. UserError if it is not YAML or has a key twice, with the line,
    or if it has no keys at its top level."""
    keys = _parse_yaml(read_text(path), str(path))
    if not isinstance(keys, dict):
        raise UserError(f"{path} has no keys at its top level; write lines such as 'scale: demo'.")
    return keys


def on_command_line(entries: Iterable[str]) -> dict:
    """Read the mappings, lists, true and false that `--config key=value ...` gives, as a file
    would give them.

    Snakemake takes true, and all that the others hold, for text. UserError for a value that is
    not YAML or has a key twice.
    """
    settings: dict = {}
    for entry in entries:
        key, _, text = entry.partition("=")
        value = _parse_yaml(text, f"--config {key}")
        if isinstance(value, (dict, list, bool)):
            settings = merge(settings, {key: value})
    return settings


def _parse_yaml(text: str, source: str):
    """Parse a text in YAML. UserError, with its source, if it is not YAML or has a key twice."""
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if key := next(_find_duplicate_keys(node), None):
            raise UserError(
                f"{source}, line {key.start_mark.line + 1}: the key '{key.value}' stands twice;"
                " write it once."
            )
        return node and loader.construct_document(node)
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date that does not exist
        reason = _describe_undefined_alias(error, text)
        if not reason:
            reason = f"{_describe_yaml_error(error)}; correct it there."
        raise UserError(f"{source}, {reason}") from error


def _describe_undefined_alias(error: Exception, text: str) -> str:
    """Name an undefined alias, which YAML's reader in C does not; "" for another error."""
    if not isinstance(error, ComposerError) or "undefined alias" not in error.problem:
        return ""
    line, column = error.problem_mark.line, error.problem_mark.column
    after_asterisk = text.splitlines()[line][column + 1 :]
    name = re.match(r"[^\s,\[\]{}]*", after_asterisk)[0]
    return (
        f"line {line + 1}: *{name} stands for nothing, as no &{name} is above it; write the value"
        f" itself, or '{name}: &{name}' with the value under '{ANCHORS}', at the top of the file."
    )


def _find_duplicate_keys(node: yaml.Node) -> Iterator[yaml.ScalarNode]:
    """Find keys that their mapping already has: YAML's readers silently take the last one.

    The key << is an exception: it merges mappings, and two of them are both merged.
    """
    values = []
    if isinstance(node, yaml.SequenceNode):
        values = node.value
    elif isinstance(node, yaml.MappingNode):
        values = [value for _, value in node.value]
        names = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE:
                continue
            if key.value in names:
                yield key
            names.add(key.value)
    for value in values:
        yield from _find_duplicate_keys(value)


def _describe_yaml_error(error: Exception) -> str:
    """Say on which line the text stops to be YAML, and why."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return " ".join(str(error).split())
    line = error.problem_mark.line + 1
    first_line = error.context_mark.line + 1 if error.context_mark else line
    where = f"line {line}"
    if first_line != line:
        where += f" (or {first_line}, where it began)"
    reasons = filter(None, (error.context, error.problem))
    return f"{where}: this is not YAML: {', '.join(reasons)}"


def _make_keys_text(value, path: str, problems: list[str]):
    """Copy the value with text for every key. Add to `problems` the keys that YAML reads as a
    number, or as yes or no."""
    if isinstance(value, list):
        return [_make_keys_text(item, f"{path}.{i}", problems) for i, item in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    for key in value:
        if not isinstance(key, str):
            place = path.lstrip(".") or "the top level"
            problems.append(f"{place}: the key {_describe_not_text(key)}")
    return {
        str(key): _make_keys_text(item, f"{path}.{key}", problems) for key, item in value.items()
    }


def _describe_not_text(value) -> str:
    """Say why YAML read something else than text, and what to write."""
    if isinstance(value, bool):
        words, word = ("yes, on or true", "yes") if value else ("no, off or false", "no")
        return (
            f"{value} is not text; YAML reads an unquoted {words} so. Write it in quotes, as"
            f' "{word}".'
        )
    kind = "a number" if isinstance(value, (int, float)) else f"a {type(value).__name__}"
    return f'{value} is not text; YAML reads it as {kind}. Write it in quotes, as "{value}".'


def _find_secrets(value, path: str) -> Iterator[str]:
    """Report values that look like a password or a token: tables and archives hold the
    configuration."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _find_secrets(item, f"{path}.{key}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _find_secrets(item, f"{path}.{number}")
    elif isinstance(value, str) and redact(value) != value:
        yield (
            f"{path.lstrip('.')}: {redact(value)!r} holds what may be a password or a token, and"
            " the configuration stands in tables and archives; leave it out."
        )


def read_schema(folder: Path) -> dict:
    """Read the schema of the whole configuration, with the catalogues' schemas where it refers to
    them."""
    schema = read_yaml(folder / "config.schema.yaml")
    for key, entry in schema["properties"].items():
        if "$ref" in entry:
            catalogue = read_yaml(folder / entry["$ref"])
            # Below a schema that names its dialect, jsonschema continues with that dialect's
            # validator instead of ours.
            catalogue.pop("$schema", None)
            schema["properties"][key] = catalogue
    return schema


def _filling_validator(schema: dict) -> Draft202012Validator:
    """Return a validator that writes the schema's defaults into what it checks."""
    check_properties = Draft202012Validator.VALIDATORS["properties"]

    def fill_then_check(validator, properties, instance, schema):
        if isinstance(instance, dict):
            for key, property_schema in properties.items():
                if "default" in property_schema:
                    instance.setdefault(key, deepcopy(property_schema["default"]))
        yield from check_properties(validator, properties, instance, schema)

    # YAML has .nan and .inf, with which nothing can be computed.
    types = Draft202012Validator.TYPE_CHECKER
    finite_types = types.redefine(
        "number", lambda _, value: types.is_type(value, "number") and math.isfinite(value)
    )
    validator_class = extend(
        Draft202012Validator, {"properties": fill_then_check}, type_checker=finite_types
    )
    return validator_class(schema)


def _is_specific(error: ValidationError) -> bool:
    """Test whether the error says more than that keys were expected, which another error says
    about the same value."""
    return error.validator != "oneOf" or isinstance(error.instance, dict)


def _is_harmless(error: ValidationError) -> bool:
    """Test whether a configuration with this error can still be searched for undefined names."""
    return isinstance(error.instance, _HARMLESS.get(error.validator, ()))


def _describe_error(error: ValidationError) -> str:
    """Write the sentence for an error of the schema: the key's path, its value, what to write."""
    path = ".".join(map(str, error.absolute_path)) or "the top level"
    value, schema, expected = error.instance, error.schema, error.validator_value
    meaning = f" ({_meaning(schema)})" if "description" in schema else ""
    if error.validator == "additionalProperties":
        problem = _describe_unknown_keys(value, list(schema.get("properties", {})))
    elif error.validator == "required":
        missing = [key for key in expected if key not in value]
        key_schema = schema.get("properties", {}).get(missing[0], {})
        problem = f"{', '.join(missing)} is missing; {_meaning(key_schema)}."
    elif error.validator == "type":
        types = [expected] if isinstance(expected, str) else expected
        problem = _describe_type(value, types, meaning)
    elif error.validator == "enum":
        problem = f"{value!r} is not possible; write {_list_choices(expected, value)}."
    elif error.validator == "oneOf":
        options = [option.get("required", []) for option in expected]
        problem = _describe_alternatives(value, options)
    elif error.validator in _LIMITS:
        limit = _LIMITS[error.validator].format(expected)
        problem = f"{value!r} does not fit; write {limit}{meaning}."
    else:
        problem = f"{value!r} does not fit; expected {error.validator} {expected}{meaning}."
    return f"{path}: {problem}"


def _describe_unknown_keys(keys: Iterable[str], allowed: list[str]) -> str:
    hints = []
    for key in keys:
        if key not in allowed:
            near = similar_names(key, allowed, 1, 0.5)
            hints.append(f"'{key}' (write '{near[0]}')" if near else f"'{key}'")
    return f"unknown key {', '.join(hints)}; the keys here are {', '.join(allowed)}."


def _describe_type(value, types: list[str], meaning: str) -> str:
    """Say what to write where a value has none of these types."""
    wants_number = "integer" in types or "number" in types
    if wants_number and isinstance(value, str) and _looks_numeric(value):
        return f"'{value}' is text to YAML; write {_as_yaml_number(value)}."
    if isinstance(value, (bool, int, float, date)) and "string" in types:
        return _describe_not_text(value)
    wanted = " or ".join(_TYPES[name] for name in types)
    if value is None:
        return f"nothing is written here; write {wanted}{meaning}, or leave the key out."
    return f"{value!r} does not fit; write {wanted}{meaning}."


def _describe_alternatives(value: Mapping, options: list[list[str]]) -> str:
    """Say what to write where a mapping has the keys of no option, or of several."""
    started = [option for option in options if any(key in value for key in option)]
    present = ", ".join(key for option in started for key in option if key in value)
    if len(started) == 1:
        missing = ", ".join(key for key in started[0] if key not in value)
        return f"write {missing} beside {present}."
    choices = " or ".join(map(", ".join, options))
    return f"must have exactly one of: {choices}; it has {present or 'none'}."


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


def _list_choices(choices: list, value) -> str:
    names = list(map(str, choices))
    if len(names) == 1:
        return names[0]
    near = similar_names(str(value), names, 1, 0.5)
    hint = f"; the nearest is '{near[0]}'" if near else ""
    return f"one of {', '.join(names)}{hint}"


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
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}e{sign}{exponent}"


def _find_undefined_names(config: dict, schema: dict) -> Iterator[str]:
    """Report undefined names, for the keys whose schema has `names`."""

    def check_names(validator, names: Mapping, value, schema) -> Iterator[ValidationError]:
        if names["a"] == "model":
            problems = unusable("", parse_model, value, config)
        else:
            defined = [name for key in names["in"] for name in config[key]]
            problems = undefined("", value, [*names.get("or", []), *defined], names["a"])
        yield from map(ValidationError, problems)

    checks = {
        key: Draft202012Validator.VALIDATORS[key]
        for key in ("properties", "additionalProperties", "propertyNames", "items")
    }
    validator = create(schema, checks | {"names": check_names})(schema)
    for error in validator.iter_errors(config):
        yield ".".join(map(str, error.absolute_path)) + error.message


def _find_contradictions(config: dict) -> Iterator[str]:
    """Report keys that fit the schema, but not each other."""
    data = config["data"]
    if data["source"] == "mirror" and not data.get("mirror"):
        yield "data.mirror: is missing; data.source mirror needs it."
    if data["source"] == "world" and not config.get("world"):
        yield "world: is missing; data.source world needs it."
    for name, task in config["tasks"].items():
        if name in config["bases"]:
            yield f"tasks.{name}: is a checkpoint's name too; give the task another."
        if task["dataset"] in config["datasets"] and task["kind"] in _TASK_ROWS:
            yield from _check_task(name, task, config)
    for name, base in config["bases"].items():
        yield from _check_base(name, base)
        if base.get("parent") in config["bases"]:
            yield from _check_parent(name, config["bases"])
    for name, stimulus in config["stimuli"].items():
        splits = _list_splits(stimulus["dataset"], config)
        if splits:
            kind = f"split of '{stimulus['dataset']}'"
            yield from undefined(f"stimuli.{name}.split", stimulus["split"], splits, kind)
    for name, entry in config["edits"].items():
        yield from edits.problems(name, entry)
    yield from _check_portions(config)


def _check_portions(config: dict) -> Iterator[str]:
    """Report shares of training records that cannot be the ends of consecutive blocks."""
    mdl = config["probes"]["mdl"]
    probes = {"probes.mdl": mdl}
    for name, task in mdl.get("tasks", {}).items():
        probes[f"probes.mdl.tasks.{name}"] = task
    for path, probe in probes.items():
        portions = probe.get("portions", [1])
        if portions[-1:] != [1] or portions != sorted(set(portions)):
            yield f"{path}.portions: {portions} does not fit; write rising shares that end with 1."


def _check_base(name: str, base: Mapping) -> Iterator[str]:
    """Report heads that cannot share a checkpoint's width, and an empty list of checkpoints."""
    if "pretrain" in base:
        width, heads = base["pretrain"]["width"], base["pretrain"]["heads"]
        if width % heads:
            yield (
                f"bases.{name}.pretrain.width: {width} cannot be divided among"
                f" {heads} heads; write a multiple of {heads}."
            )
    if inits_of(base) < 1:
        yield f"bases.{name}.checkpoints: is empty; list one checkpoint for each pretraining run."


def lineage(base: str, bases: Mapping) -> list[str]:
    """List a checkpoint, its `parent`, that one's parent and so on; if they never end, the last
    name occurs twice."""
    names = [base]
    while names.count(names[-1]) == 1:
        parent = bases.get(names[-1], {}).get("parent")
        if not parent:
            break
        names.append(parent)
    return names


def _check_parent(name: str, bases: Mapping) -> Iterator[str]:
    """Say why a checkpoint cannot be compared with the parent that it names, layer by layer, head
    by head and token by token."""
    names = lineage(name, bases)
    if names.count(names[-1]) > 1:
        yield (
            f"bases.{name}.parent: {', '.join(names)} never ends; leave out the parent of the"
            " checkpoint that came first."
        )
    parent = bases[name]["parent"]
    base_shape = {**shape_of(bases[name]), "checkpoints": inits_of(bases[name])}
    parent_shape = {**shape_of(bases[parent]), "checkpoints": inits_of(bases[parent])}
    for key in ("layers", "heads", "vocabulary", "checkpoints"):
        if base_shape[key] != parent_shape[key]:
            yield (
                f"bases.{name}.parent: '{name}' has {key}: {base_shape[key]}, its parent"
                f" '{parent}' {parent_shape[key]}; name the checkpoint that it was trained from,"
                " with as many checkpoints as it has."
            )


def _list_splits(dataset: str, config: Mapping) -> list[str]:
    """List the splits that a data set's entry names for the source of data; empty if it names
    none."""
    spec = config["datasets"].get(dataset, {})
    if config["data"]["source"] == "hub":
        return list(spec.get("hub", {}).get("splits", {}))
    return list(spec.get("mirror", {}))


def _check_task(name: str, task: Mapping, config: Mapping) -> Iterator[str]:
    """Report where a task and its data set do not fit together."""
    dataset, kind, metrics = task["dataset"], task["kind"], task["metrics"]
    spec = config["datasets"][dataset]
    row_kinds, label_key = _TASK_ROWS[kind]
    splits = _list_splits(dataset, config)
    labels = set(spec.get("labels", {}).values())
    has_f1 = kind == "classification" and "f1" in metrics
    if spec["kind"] not in row_kinds:
        yield (
            f"tasks.{name}.kind: {kind} needs a data set of kind {' or '.join(row_kinds)}; "
            f"datasets.{dataset} is of kind {spec['kind']}."
        )
    elif label_key and label_key not in spec:
        alternative = "regression" if label_key == "labels" else "classification"
        yield (
            f"tasks.{name}.kind: {kind} needs '{label_key}', which datasets.{dataset} has not; add"
            f" it, or write {alternative}."
        )
    elif has_f1 and len(labels) != 2:
        yield (
            f"tasks.{name}.metrics: f1 needs two labels, datasets.{dataset} has {len(labels)};"
            " write macro_f1."
        )
    elif has_f1 and metrics[0] == "f1" and "accuracy" not in metrics:
        yield (
            f"tasks.{name}.metrics: f1 does not tell whether a run failed to train; add accuracy"
            " after it."
        )
    if task.get("standardise_labels") and kind != "regression":
        yield (
            f"tasks.{name}.standardise_labels: labels of kind {kind} are no numbers; leave the key"
            " out."
        )
    for split in ("train", "dev"):
        if splits and split not in splits:
            yield (
                f"tasks.{name}.dataset: datasets.{dataset} has no {split} split, only"
                f" {', '.join(splits)}; add it."
            )
