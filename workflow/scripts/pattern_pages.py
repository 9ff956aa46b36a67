from bertshift.running.jobs import job

with job(snakemake):
    from pathlib import Path

    from bertshift.files import atomic, read_tsv
    from bertshift.patterns import maps
    from bertshift.patterns.pages import pages

    folder, directory = Path(snakemake.input[0]), Path(snakemake.output[0])
    table = read_tsv(folder / maps.TABLE)
    drawn = pages(table, *maps.read_maps(folder / maps.MAPS))
    for number, page in enumerate(drawn, 1):
        with atomic(directory / f"page_{number:02d}.png") as path:
            page.savefig(path, format="png", metadata={"Software": None})
