"""The machine-readable description of an archive: RO-Crate 1.1 metadata with the terms of Workflow
Run Crate 0.5.

https://www.researchobject.org/workflow-run-crate/profiles/workflow_run_crate: the workflow is the
main entity, and a CreateAction states that its run made the results from the configuration.
"""

import json
import mimetypes
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate

from bertshift.release.archive import SUMS

METADATA, README = "ro-crate-metadata.json", "README.md"
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
FORMATS = {
    ".tsv": "text/tab-separated-values",
    ".npy": "application/octet-stream",
    ".yaml": "application/yaml",
}


def metadata(
    files: Mapping[str, int],
    configuration: Sequence[str],
    results: Sequence[str],
    info: Mapping[str, str],
) -> bytes:
    """Build ro-crate-metadata.json of an archive.

    files: size in bytes of each file that is described, by its name in the archive
    configuration, results: names, which `files` has too
    info: `title`, `version`, `authors` and `license` (SPDX) of the program, the version of
        `snakemake`, the `heading` of the archive, the `command` that made the results, and the
        time at which they were `finished` (ISO 8601)
    """
    crate = ROCrate(version="1.1")

    def add_entity(identifier: str, kind: str, name: str, **properties: str) -> ContextEntity:
        properties = {"@type": kind, "name": name, **properties}
        return crate.add(ContextEntity(crate, identifier, properties))

    licence = add_entity(
        f"https://spdx.org/licenses/{info['license']}", "CreativeWork", info["license"]
    )
    workflow = crate.add_workflow(
        dest_path="workflow/Snakefile",
        main=True,
        lang="snakemake",
        lang_version=info["snakemake"],
        properties={
            "name": info["title"],
            "version": info["version"],
            "encodingFormat": "text/plain",
        },
    )
    workflow["creator"] = add_entity("#authors", "Organization", info["authors"])
    workflow["license"] = licence
    entities = {
        name: crate.add_file(dest_path=name, properties=_describe_file(name, size))
        for name, size in files.items()
    }
    root = crate.root_dataset
    entities[README]["about"] = root
    run = add_entity(
        "#run",
        "CreateAction",
        f"Run of {info['command']}",
        description=info["heading"],
        endTime=info["finished"],
    )
    run["instrument"] = workflow
    run["actionStatus"] = "http://schema.org/CompletedActionStatus"
    run["object"] = [entities[name] for name in configuration]
    run["result"] = [entities[name] for name in results]
    root["name"] = info["heading"]
    root["description"] = (
        f"Figures, tables and claims that `{info['command']}` made, its configuration, and the"
        f" program. {SUMS} has the digest of every file."
    )
    root["license"] = licence
    root["datePublished"] = info["finished"]
    root["mentions"] = run
    root["conformsTo"] = [
        add_entity(profile, "CreativeWork", name, version=version)
        for profile, (name, version) in PROFILES.items()
    ]
    return json.dumps(crate.metadata.generate(), indent=1, ensure_ascii=False).encode()


def _describe_file(name: str, size: int) -> dict[str, str]:
    path = PurePosixPath(name)
    kind = FORMATS.get(path.suffix) or mimetypes.types_map.get(path.suffix)
    return {
        "name": path.name,
        "contentSize": str(size),
        "encodingFormat": kind or "application/octet-stream",
    }
