"""What the site is made of, for mkdocs: all guides, and the files that they link to, at the places that they have in the project.

A link to what the site has not, as to a folder or a large file, becomes its text.
"""

import re
from pathlib import Path

from mkdocs.structure.files import File

LARGEST = 300_000  # bytes of a file that pages link to: a picture, not a table of all numbers
# A link's text may have an interval in it, and a title may stand behind its target.
LINK = re.compile(r'(?<!!)\[((?:[^][]|\[[^][]*\])*)\]\(([^)\s#]+)(?:#[^)\s]*)?(?: "[^"]*")?\)')
TARGET = re.compile(r"\]\(([^)\s#]+)")


def on_files(files, config):
    """Put the project's guides, with what they link to, in the place of the files of docs/."""
    root = Path(config.config_file_path).parent
    for file in [file for file in files if file.src_dir == config.docs_dir]:
        files.remove(file)
    guides = [
        root / "README.md",
        root / "CHANGELOG.md",
        root / "config/README.md",
        *root.glob("docs/**/*.md"),
    ]
    linked = {
        path for guide in guides for path in _linked(guide) if path.stat().st_size <= LARGEST
    }
    for path in sorted({*guides, *linked}):
        uri = path.relative_to(root).as_posix()
        files.append(File.generated(config, uri, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Leave links to files of the site and to other sites, and turn all others into text."""

    def kept(match):
        text, target = match.groups()
        path = Path(config.config_file_path).parent / page.file.src_uri
        found = "://" in target or any(
            file.abs_src_path == str((path.parent / target).resolve()) for file in files
        )
        return match[0] if found else text

    # Two pairs of brackets side by side would be a link to what the second names.
    return re.sub(r"\[(CLS|SEP)\](?= \[)", r"\\[\1\\]", LINK.sub(kept, markdown))


def _linked(guide):
    targets = TARGET.findall(guide.read_text(encoding="utf-8"))
    paths = [(guide.parent / target).resolve() for target in targets if "://" not in target]
    return [path for path in paths if path.is_file() and ".github" not in path.parts]
