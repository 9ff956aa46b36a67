from probes.edge_world import make, record

from bertshift.files import write_jsonl
from bertshift.probes.sentences import distinct_sentences, records_used


def test_samples_are_the_same_each_time_and_every_sentence_stands_once(tmp_path):
    words = [[f"w{n}", "x"] for n in range(40)]
    records = [record(each, ("A", (0, 1))) for each in words]
    made = make(tmp_path, words)
    folder = made.edges("pos", 1, {"train": records, "dev": records, "test": records})
    write_jsonl(folder / "test.jsonl", records + records)

    sizes = {"train": 10, "dev": 5, "test": None}
    train = records_used(folder, "pos", "train", sizes)
    assert (
        train == records_used(folder, "pos", "train", sizes) != records[:10] and len(train) == 10
    )
    assert records_used(folder, "pos", "dev", sizes) == records[:5]
    assert len(records_used(folder, "pos", "test", sizes)) == 80

    rows = distinct_sentences({"pos": folder}, {"pos": sizes})
    assert sorted(row["words"][0] for row in rows) == sorted(f"w{n}" for n in range(40))
    few = distinct_sentences({"pos": folder}, {"pos": {"train": 3, "dev": 2, "test": 1}})
    assert 2 < len(few) <= 6
