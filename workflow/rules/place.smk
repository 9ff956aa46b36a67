# Where the workflow's own files lie: not in the folder that is worked in, where another workflow uses this one.
import io
import os
import tarfile
import tempfile
from pathlib import Path

from git import Repo
from snakemake.exceptions import WorkflowError
from snakemake.sourcecache import HostingProviderFile, LocalGitFile, LocalSourceFile


def on_disk(folder):
    """A folder of this repository, as Snakemake names it, as a path.

    From a git host Snakemake reads one file after the other, but the library is one: then it is a copy of the commit, beside
    Snakemake's own.
    """
    if isinstance(folder, LocalSourceFile):
        return Path(os.path.abspath(folder))
    if isinstance(folder, LocalGitFile):
        repository = Repo(folder.repo_path)
    elif isinstance(folder, HostingProviderFile):
        repository = folder.hosted_repo.repo
    else:
        raise WorkflowError(
            f"bertshift cannot be used from {folder}; name its Snakefile as a path, or by github(...), gitlab(...) or gitfile(...)."
        )
    commit = repository.commit(folder.ref)
    copy = workflow.sourcecache.cache_path / "bertshift" / commit.hexsha
    if not copy.exists():
        copy.parent.mkdir(parents=True, exist_ok=True)
        archive = io.BytesIO()
        repository.archive(archive, commit)
        archive.seek(0)
        with tempfile.TemporaryDirectory(dir=copy.parent) as new, tarfile.open(fileobj=archive) as packed:
            packed.extractall(new, filter="data")
            try:
                os.rename(new, copy)
            except OSError:  # another process was first
                if not copy.exists():
                    raise
    return copy / folder.path


LIBRARY = on_disk(workflow.current_basedir).parent
ROOT = LIBRARY.parent
