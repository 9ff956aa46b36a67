from probes.edge_world import make, record

from bertshift.probes.sentences import distinct_sentences, records_used


def test_samples_are_the_same_each_time_and_every_sentence_is_there_once(tmp_path):
    sentences = [[f"w{n}", "x"] for n in range(40)]
    records = [record(words, ("A", (0, 1))) for words in sentences]
    splits = {"train": records, "dev": records, "test": records + records}
    folder = make(tmp_path, sentences).edges("pos", 1, splits)

    sizes = {"train": 10, "dev": 5, "test": None}
    train = records_used(folder, "pos", "train", sizes)
    assert train == records_used(folder, "pos", "train", sizes) != records[:10]
    assert len(train) == 10
    assert records_used(folder, "pos", "dev", sizes) == records[:5]
    assert len(records_used(folder, "pos", "test", sizes)) == 80

    rows = distinct_sentences({"pos": folder}, {"pos": sizes})
    assert sorted(row["words"] for row in rows) == sorted(sentences)
    few = distinct_sentences({"pos": folder}, {"pos": {"train": 3, "dev": 2, "test": 1}})
    assert 2 < len(few) <= 6
