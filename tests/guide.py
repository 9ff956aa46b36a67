"""The tables of config/README.md, written from the schemas; those of docs/mirror.md, from the
catalogues; and those of measures in README.md and docs/methods.md, from their records: `make
guide`.

In config/README.md, between two marks stands a row for each key that the first mark names, and for
each key below it. A key that has no description, or one that an earlier row has, is named in the
row of what holds it.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from bertshift.config import CATALOGUES, read_catalogue, read_schema
from bertshift.measures import ANY, MEASURES, NATS, ONE, POSITIVE, ROW, TWO, Range

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "config/README.md"
TABLE = re.compile(r"(<!-- keys: (.*?) -->\n).*?(<!-- end of keys -->\n)", re.DOTALL)
PAGES = [ROOT / name for name in ("README.md", "docs/methods.md", "docs/mirror.md")]
NAMED = re.compile(r"(<!-- table: (.*?) -->\n).*?(<!-- end of table -->\n)", re.DOTALL)
HEAD = "\n| key | default | effect |\n|---|---|---|\n"


def written(guide: str) -> str:
    """Write the tables of a guide anew."""
    whole, seen = read_schema(ROOT / "workflow/schemas"), set()
    named = [key for _, keys, _ in TABLE.findall(guide) for key in keys.split()]
    if wrong := {*named} ^ {*whole["properties"]} or {
        key for key in named if named.count(key) > 1
    }:
        raise SystemExit(
            f"{GUIDE}: name {', '.join(sorted(wrong))} in the mark of one table, and only if the schema has it."
        )

    def table(found: re.Match) -> str:
        begin, keys, end = found.groups()
        rows = [
            row
            for key in keys.split()
            for row in rows_of(key, whole["properties"][key], whole, seen)
        ]
        return begin + HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows) + f"\n{end}"

    return TABLE.sub(table, guide)


def rows_of(
    path: str, schema: dict, holder: dict, seen: set[int]
) -> Iterator[tuple[str, str, str]]:
    """(key, default, effect) of a key of `holder` and of each key below it; `seen` has the schemas
    with a row already."""
    key, said = path.rpartition(".")[2], []
    default = default_of(key, holder)
    while True:
        if id(schema) not in seen:
            said += [schema["description"]] if "description" in schema else []
            said += choices(schema, " ".join(said))
        seen.add(id(schema))
        if not (below := chosen(schema)):
            break
        path, schema = f"{path}.<{below.get('title', 'name')}>", below
    said += conditions(holder, key)
    inside, own = schema.get("properties", {}), {}
    for name, each in inside.items():
        if id(each) not in seen and ("description" in each or "properties" in each):
            own.setdefault(id(each), name)
    if named := [name for name in inside if name not in own.values()]:
        said.append(
            f"keys: {', '.join(f'`{name}`{bracketed(default_of(name, schema))}' for name in named)}."
        )
    yield f"`{path}`", default, " ".join(map(sentence, said))
    for name in own.values():
        yield from rows_of(f"{path}.{name}", inside[name], schema, seen)


def chosen(schema: dict) -> dict | None:
    """What stands under each name that the user chooses, or in each entry of a list of
    mappings."""
    items, more = schema.get("items", {}), schema.get("additionalProperties")
    return items if "properties" in items else more if isinstance(more, dict) else None


def default_of(key: str, holder: dict) -> str:
    """The default as YAML has it, or whether `holder` needs the key."""
    default = holder.get("properties", {}).get(key, {}).get("default", {})
    if default == {}:
        return "needed" if key in holder.get("required", ()) else ""
    return f"`{json.dumps(default)}`".replace('"', "")


def bracketed(text: str) -> str:
    return text and f" ({text})"


def choices(schema: dict, said: str) -> Iterator[str]:
    """The values, entries and names that are possible, unless what is said has all of them."""
    places = {
        "one of": schema,
        "any of": schema.get("items", {}),
        "names:": schema.get("propertyNames", {}),
    }
    for words, place in places.items():
        possible = [f"`{value}`" for value in place.get("enum", ())]
        if not all(value in said for value in possible):
            yield f"{words} {', '.join(possible)}."


def conditions(holder: dict, key: str) -> Iterator[str]:
    """The values that are possible for each value of another key."""
    found = []
    for branch in holder.get("allOf", ()):
        [(other, limit)] = branch["if"]["properties"].items()
        then = branch["then"].get("properties", {}).get(key, {})
        if values := then.get("items", then).get("enum"):
            cases = limit["enum"] if "enum" in limit else [limit["const"]]
            found.append(f"{', '.join(cases)}: {', '.join(f'`{value}`' for value in values)}")
    if found:
        yield f"by `{other}`, {'; '.join(found)}."


def sentence(text: str) -> str:
    return (text[0].upper() + text[1:].rstrip(".") + ".").replace("|", "\\|")


def filled(page: str) -> str:
    """Write the tables of a page anew, each between two marks of which the first names it."""

    def table(found: re.Match) -> str:
        begin, name, end = found.groups()
        rows = [f"| {' | '.join(row)} |\n" for row in ROWS[name]()]
        return f"{begin}\n{''.join(rows)}\n{end}"

    return NAMED.sub(table, page)


def of_measures() -> Iterator[tuple[str, ...]]:
    yield ("table", "what it holds", "reads", "unit", "range", "a null in it", "heads", "blocks")
    yield ("---",) * 8
    for name, measure in MEASURES.items():
        anchor = measure.explained.lower().replace(" ", "-")
        ranges = dict.fromkeys(map(described, measure.ranges.values()))
        yield (
            f"[`{name}`](#{anchor})",
            measure.title,
            measure.reads,
            measure.unit,
            "; ".join(ranges),
            measure.null,
            "yes" if measure.by_heads else "",
            "yes" if measure.has_blocks else "",
        )


def described(bounds: Range) -> str:
    """Describe a range: `0 to 1`, `from 0`, `any`."""
    if bounds == ANY:
        return "any"
    low, high = ("ln 2" if end == NATS[1] else f"{end:g}".replace("-", "−") for end in bounds)
    return f"from {low}" if bounds == POSITIVE else f"{low} to {high}"


def of_names() -> Iterator[tuple[str, ...]]:
    kinds = (TWO, ONE, ROW)
    yield tuple(f"of {kind}" for kind in kinds)
    yield ("---",) * len(kinds)
    yield tuple(
        listed(name for name, measure in MEASURES.items() if kind in measure.of) for kind in kinds
    )


def of_data_sets() -> Iterator[tuple[str, ...]]:
    catalogue = catalogue_of("datasets")
    yield from (("data set", "split", "files", "licence"), ("---",) * 4)
    for name, spec in catalogue.items():
        for split, files in spec.get("mirror", {}).items():
            yield (
                f"`{name}`",
                split,
                listed([files] if isinstance(files, str) else files),
                spec["licence"],
            )


def of_corpora() -> Iterator[tuple[str, ...]]:
    catalogue = catalogue_of("edge_sets")
    yield from (("corpus", "task", "files", "from"), ("---",) * 4)
    for name, spec in catalogue.items():
        if spec["licence"] != "generated":
            yield f"`{name}`", spec["task"], listed(spec["files"].values()), spec["url"]


def of_framenet() -> Iterator[tuple[str, ...]]:
    catalogue = catalogue_of("relations")
    yield from (("one of these files or folders", "from"), ("---",) * 2)
    yield listed(catalogue["files"]), catalogue["download"]["url"]


def catalogue_of(key: str) -> dict:
    return read_catalogue(ROOT / "config" / CATALOGUES[key])


def listed(files: Iterable[str]) -> str:
    return ", ".join(f"`{file}`" for file in files)


ROWS = {
    "measures": of_measures,
    "names of measures": of_names,
    "data sets": of_data_sets,
    "corpora": of_corpora,
    "FrameNet": of_framenet,
}

if __name__ == "__main__":
    GUIDE.write_text(written(GUIDE.read_text(encoding="utf-8")), encoding="utf-8")
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
