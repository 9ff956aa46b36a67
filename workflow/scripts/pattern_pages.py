from bertshift.running.jobs import job

with job(snakemake):
    from pathlib import Path

    from bertshift.files import atomic, read_tsv
    from bertshift.patterns import sheet
    from bertshift.patterns.pages import pages

    folder, directory = Path(snakemake.input[0]), Path(snakemake.output[0])
    table = read_tsv(folder / sheet.TABLE)
    maps, special = sheet.read_maps(folder / sheet.MAPS)
    for number, page in enumerate(pages(table, maps, special), 1):
        with atomic(directory / f"page_{number:02d}.png") as path:
            page.savefig(path, format="png", metadata={"Software": None})
