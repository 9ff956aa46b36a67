from bertshift.running.jobs import job

with job(snakemake) as settings:
    import pandas as pd
    import yaml

    from bertshift.files import write_tsv
    from bertshift.papers.by_name import decide
    from bertshift.rows.table import Table
    from bertshift.verdicts.multiplicity import with_claim_verdicts
    from bertshift.version import stamped

    with open(snakemake.input.published, encoding="utf-8") as file:
        published = yaml.safe_load(file)
    claims = []
    for name, paths in settings["tables"].items():
        tables = {path: Table.read(path) for path in paths}
        claims.append(decide(name, tables, published))
    write_tsv(snakemake.output[0], stamped(with_claim_verdicts(pd.concat(claims))))
