"""An archive described for machines: RO-Crate 1.1 metadata with the terms of Workflow Run Crate
0.5.

https://www.researchobject.org/workflow-run-crate/profiles/workflow_run_crate: the workflow is the
main entity, and a CreateAction says that its run made the results from the configuration.
"""

import json
import mimetypes
from collections.abc import Mapping, Sequence

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
    about: Mapping[str, str],
) -> bytes:
    """Build ro-crate-metadata.json of an archive.

    files: bytes of each file that is described, by its name in the archive; `configuration` and
    `results` are among them. about: `title`, `version`, `authors` and `license` (SPDX) of the
    program, the version of `snakemake`, the `heading` of the archive, the `command` that made the
    results, and when they were `finished` (ISO 8601).
    """
    crate, ended = ROCrate(version="1.1"), about["finished"]

    def entity(identifier: str, kind: str, name: str, **facts: str) -> ContextEntity:
        return crate.add(ContextEntity(crate, identifier, {"@type": kind, "name": name, **facts}))

    licence = entity(
        f"https://spdx.org/licenses/{about['license']}", "CreativeWork", about["license"]
    )
    workflow = crate.add_workflow(
        dest_path="workflow/Snakefile",
        main=True,
        lang="snakemake",
        lang_version=about["snakemake"],
        properties={
            "name": about["title"],
            "version": about["version"],
            "encodingFormat": "text/plain",
        },
    )
    workflow["creator"], workflow["license"] = (
        entity("#authors", "Organization", about["authors"]),
        licence,
    )
    described = {
        name: crate.add_file(dest_path=name, properties=_facts(name, size))
        for name, size in files.items()
    }
    described[README]["about"] = root = crate.root_dataset
    run = entity(
        "#run",
        "CreateAction",
        f"Run of {about['command']}",
        description=about["heading"],
        endTime=ended,
    )
    run["instrument"], run["actionStatus"] = workflow, "http://schema.org/CompletedActionStatus"
    run["object"] = [described[name] for name in configuration]
    run["result"] = [described[name] for name in results]
    root["name"] = about["heading"]
    root["description"] = (
        f"Figures, tables and claims that `{about['command']}` made, its configuration, and the"
        f" program. {SUMS} has the digest of every file."
    )
    root["license"], root["datePublished"], root["mentions"] = licence, ended, run
    root["conformsTo"] = [
        entity(profile, "CreativeWork", name, version=version)
        for profile, (name, version) in PROFILES.items()
    ]
    return json.dumps(crate.metadata.generate(), indent=1, ensure_ascii=False).encode()


def _facts(name: str, size: int) -> dict[str, str]:
    ending = "." + name.rpartition(".")[2]
    kind = FORMATS.get(ending) or mimetypes.types_map.get(ending, "application/octet-stream")
    return {"name": name.rpartition("/")[2], "contentSize": str(size), "encodingFormat": kind}
