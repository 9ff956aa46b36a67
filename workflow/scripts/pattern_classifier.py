from bertshift.running.jobs import job

with job(snakemake) as settings:
    from pathlib import Path

    from bertshift.files import read_tsv, write_tsv
    from bertshift.patterns import classifier, scores
    from bertshift.patterns.labels import read_labels
    from bertshift.patterns.maps import MAPS, TABLE, read_maps
    from bertshift.rows.blocks import write_measures
    from bertshift.rows.provenance import joined

    folder = Path(snakemake.input.sheet)
    sheet = read_tsv(folder / TABLE)
    maps, _ = read_maps(folder / MAPS)
    if snakemake.input.labels:
        sheet = read_labels(Path(snakemake.input.labels[0]), sheet)
    net, predictions = classifier.fit(sheet, maps, classifier.ClassifierSettings(**settings))
    classifier.save(snakemake.output.classifier, net)
    origin = joined(sheet)
    write_tsv(snakemake.output.predictions, predictions)
    write_measures(snakemake.output.scores, scores.score_table(predictions).assign(**origin))
    write_measures(
        snakemake.output.confusion, scores.confusion_table(predictions).assign(**origin)
    )
