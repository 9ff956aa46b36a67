"""Put archives of tables together in one, with the figures and nulls that a configuration names.

PYTHONPATH=workflow python docs/real/combine.py OUT.zip CONFIGFILE ARCHIVE.zip ...
"""

import sys
from functools import reduce

import yaml

from bertshift.config import merge, read_yaml
from bertshift.release import archive
from bertshift.release.contents import RESOLVED


def main(out: str, configfile: str, *paths: str) -> None:
    files, configs = {}, []
    for path in paths:
        with archive.opened(path) as opened:
            files |= {name: archive.read(opened, name) for name in opened.namelist()}
        configs.append(yaml.safe_load(files[RESOLVED]))
    edited = read_yaml(configfile)
    shown = {
        key: edited[key] for key in ("figures", "noise", "shuffled", "scored") if key in edited
    }
    config = reduce(merge, [*configs, shown])
    files[RESOLVED] = yaml.safe_dump(config, sort_keys=False).encode()
    del files[archive.SUMS]
    archive.write(out, files)


if __name__ == "__main__":
    main(*sys.argv[1:])
