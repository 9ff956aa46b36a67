import json
from itertools import product

import numpy as np
import pytest

from bertshift.activations.extract import encode
from bertshift.activations.store import writing
from bertshift.data.relations import prepare_relations, read_relations
from bertshift.errors import UserError
from bertshift.metrics import relation_heads
from bertshift.rows.blocks import WITHOUT

TEXTS = ["ann saw bob", "bob saw a cat", "the cat saw ann", "dogs ran home today", "ann ann saw ann"]
ARGUMENTS = [[(0, 1), (2, 3)], [(0, 1), (2, 4)], [(0, 2), (3, 4)], [(0, 1)], [(1, 2), (3, 4)]]
PREDICATES = [(1, 2), (1, 2), (2, 3), (1, 3), (2, 3)]


def spans_of(text):
    starts = np.cumsum([0, *(len(word) + 1 for word in text.split())])
    return [(int(start), int(start) + len(word)) for start, word in zip(starts, text.split())]


def marked(number, text=None):
    """Words first..last of a sentence as a relation."""
    text = text or TEXTS[number]
    spans = spans_of(text)

    def characters(words):
        return [spans[words[0]][0], spans[words[1] - 1][1]]

    return {
        "id": str(number),
        "text": text,
        "predicate": characters(PREDICATES[number]),
        "arguments": [{"span": characters(words), "role": "X"} for words in ARGUMENTS[number]],
    }


RELATIONS = [marked(number) for number in range(len(TEXTS))]


def index_of(relations):
    """Build the index that `extract.encode` makes with a tokenizer that cuts at spaces."""
    known = {
        word: number
        for number, word in enumerate(sorted({w for r in relations for w in r["text"].split()}), 3)
    }
    tokens = []
    for row in relations:
        words = zip(row["text"].split(), spans_of(row["text"]))
        tokens += [(1, True, 0, 0), *((known[word], False, *span) for word, span in words), (2, True, 0, 0)]
    ids, special, start, end = map(np.array, zip(*tokens))
    lengths = np.array([len(row["text"].split()) + 2 for row in relations])
    return {
        "token_ids": ids.astype(np.int32), "special": special, "char_start": start, "char_end": end,
        "segment": np.zeros(len(ids), np.uint8), "example_offsets": np.append(0, np.cumsum(lengths)),
        "map_offsets": np.append(0, np.cumsum(lengths**2)), "example_ids": np.array([row["id"] for row in relations]),
    }  # fmt: skip


@pytest.fixture
def dump(tmp_path):
    """Call it with maps [layers][sentences] of [heads, length, length] for an activation file."""

    def write(maps, relations=RELATIONS, name="init1.npz"):
        index = index_of(relations)
        with writing(tmp_path / name, index, len(maps), 1, len(maps[0][0])) as writer:
            for example in range(len(relations)):
                for layer in range(len(maps) + 1):
                    writer.hidden(layer, example, np.zeros((np.diff(index["example_offsets"])[example], 1)))
                for layer, values in enumerate(maps, 1):
                    writer.attention(layer, example, values[example])
        return tmp_path / name

    return write


def random_maps(lengths, layers=2, heads=3, seed=0):
    rng = np.random.default_rng(seed)
    return [
        [rng.dirichlet(np.ones(n), (heads, n)).astype(np.float32) for n in lengths] for _ in range(layers)
    ]


LENGTHS = [len(text.split()) + 2 for text in TEXTS]


def positions(number):
    """Tokens of arguments and predicate, counted with [CLS]."""
    return (
        [1 + word for words in ARGUMENTS[number] for word in range(*words)],
        [1 + word for word in range(*PREDICATES[number])],
    )


def brute(reading, a, number):
    """The score of one sentence and head, pair by pair."""
    arguments, predicate = positions(number)
    if reading == "code_zip":  # as the notebook does it, on lists of pieces
        pieces = ["[CLS]", *TEXTS[number].split(), "[SEP]"]
        sources, targets = ([pieces.index(pieces[k]) for k in part] for part in (arguments, predicate))
        return max(a[s, t] for s, t in zip(sources, targets))
    forth = max(a[s, t] for s, t in product(arguments, predicate))
    back = max(a[t, s] for s, t in product(arguments, predicate))
    return {"max_fe_to_lu": forth, "max_lu_to_fe": back, "max_both": max(forth, back)}[reading]


def scores(table):
    rows = table[table["metric"] == "relation_heads"]
    return rows.set_index(["variant", "layer", "head"]).sort_index()


def test_every_reading_is_what_its_pairs_say(dump):
    maps = random_maps(LENGTHS)
    found = scores(relation_heads.measure("base", {(1, 0): dump(maps)}, RELATIONS))
    for reading in relation_heads.READINGS:
        for layer, head in product((1, 2), (1, 2, 3)):
            each = [brute(reading, maps[layer - 1][n][head - 1].astype(float), n) for n in range(len(TEXTS))]
            row = found.loc[reading, layer, head]
            assert row["value"] == pytest.approx(np.mean(each), rel=1e-12) and row["n"] == len(TEXTS)
            assert row["sd"] == pytest.approx(np.std(each, ddof=1))
            left = [
                np.delete(each, sentence).mean() for sentence in range(len(each))
            ]  # fewer than there are blocks
            assert row[WITHOUT[: len(left)]].to_numpy(float) == pytest.approx(left, abs=1e-12)
        means = found.loc[reading].groupby("layer")["value"]
        assert means.apply(lambda v: v.iloc[0] - v.iloc[1:].mean()).abs().max() < 1e-12
        ranks = found.loc[reading].query("head > 0").sort_values("value", ascending=False)["rank"]
        assert ranks.tolist() == [1, 2, 3, 4, 5, 6]
        assert found.loc[reading]["heads_99"].iloc[0] == pytest.approx(np.percentile(
            found.loc[reading].query("head > 0")["value"], 99))  # fmt: skip


def test_a_piece_counts_where_it_first_occurs_in_the_notebook_alone():
    arguments, predicate, tokens = np.array([2, 4]), np.array([3]), np.array([1, 7, 7, 8, 7, 2])
    queries, keys = relation_heads.READINGS["code_zip"](arguments, predicate, tokens)
    assert (queries.tolist(), keys.tolist()) == ([1], [3])
    alone = relation_heads.Sentence(0, arguments, predicate, tokens)
    [place] = relation_heads.places([alone], "code_zip")
    assert not len(place.others) and set(place.drawn) == {0}  # never its own stand-in
    queries, keys = relation_heads.READINGS["max_fe_to_lu"](arguments, predicate, tokens)
    assert (queries.tolist(), keys.tolist()) == ([2, 4], [3, 3])


def test_a_head_of_positions_scores_as_its_null_and_a_head_of_relations_does_not(dump):
    """Sentences of one length, each with its relation in one of two places; head 1 looks three tokens ahead in all."""
    text, places = "dogs that ran home slept well", [(0, 3), (1, 4)]
    spans = spans_of(text)
    relations, maps = [], []
    for number in range(12):
        argument, predicate = places[number % 2]
        relations.append(
            {
                "id": str(number),
                "text": text,
                "predicate": spans[predicate],
                "arguments": [{"span": spans[argument]}],
            }
        )
        related = np.zeros((8, 8), np.float32)
        related[1 + argument, 1 + predicate] = 1
        maps.append(np.stack([np.eye(8, k=3, dtype=np.float32) * 0.9, related]))
    found = scores(relation_heads.measure("base", {(1, 0): dump([maps], relations)}, relations))
    for reading in ("max_fe_to_lu", "code_zip"):
        position, relation = found.loc[reading, 1, 1], found.loc[reading, 1, 2]
        assert position["value"] == pytest.approx(0.9)
        assert position["null"] == position["null_99"] == pytest.approx(position["value"], rel=1e-12)
        assert (relation["value"], relation["null_99"], relation["null_n"]) == (1, 0, 12)
    assert found.loc["max_lu_to_fe", 1, 1]["value"] == 0 and found.loc["max_both", 1, 2]["value"] == 1


def test_the_null_is_the_mean_over_all_sentences_that_can_stand_in(dump):
    maps = random_maps(LENGTHS, layers=1, heads=2)
    found = scores(relation_heads.measure("base", {(1, 0): dump(maps)}, RELATIONS)).loc["max_fe_to_lu", 1, 2]
    expected, matched = [], 0
    for number, length in enumerate(LENGTHS):
        pairs = set(product(*positions(number)))
        others = []
        for other in range(len(TEXTS)):
            own = {pair for s, t in product(*positions(other)) for pair in ((s, t), (t, s))}
            if other != number and LENGTHS[other] == length and not own & pairs:
                others.append(max(maps[0][other][1][pair] for pair in pairs))
        matched += bool(others)
        # A sentence without a match, as the first of its length, counts with its own score.
        expected.append(np.mean(others) if others else brute("max_fe_to_lu", maps[0][number][1], number))
    assert 0 < matched < len(TEXTS) and found["null_n"] == matched
    assert found["null"] == pytest.approx(np.mean(expected)) and found["null_99"] >= found["null"]


def test_the_map_shown_is_the_papers_sentence_or_that_of_the_highest_score(dump):
    maps = random_maps(LENGTHS)
    maps[1][2][0, :, :] = 0.01
    maps[1][2][0, :, 3] = 0.96  # head L2H1 looks at "saw" in the third sentence
    table = relation_heads.measure("base", {(1, 0): dump(maps)}, RELATIONS)
    shown = table[table["metric"] == "relation_map"]
    best = table[(table["variant"] == "max_fe_to_lu") & (table["rank"] <= 2)]
    assert set(zip(shown["layer"], shown["head"])) == set(zip(best["layer"], best["head"]))
    head = shown[(shown["layer"] == 2) & (shown["head"] == 1)]
    assert (head["example"] == "2").all() and len(head) == 36
    a = head.pivot(index="query", columns="key", values="value").to_numpy()
    np.testing.assert_array_equal(a, maps[1][2][0].astype(float))
    first = head[head["query"] == 1]
    assert first["key_token"].tolist() == ["[first]", "the", "cat", "saw", "ann", "[separator]"]
    assert first["key_part"].tolist() == ["", "argument", "argument", "predicate", "argument", ""]
    papers = [*RELATIONS[:4], marked(4, "He was becoming agitated .")]
    lengths = [*LENGTHS[:4], 7]
    shown = relation_heads.measure("base", {(1, 0): dump(random_maps(lengths), papers)}, papers)
    assert set(shown.loc[shown["metric"] == "relation_map", "example"]) == {"4"}


def test_each_replicate_has_its_rows_and_twice_the_same_numbers(dump):
    dumps = {(1, 1): dump(random_maps(LENGTHS)), (1, 2): dump(random_maps(LENGTHS, seed=1), name="b.npz")}
    table = relation_heads.measure("mnli", dumps, RELATIONS)
    assert list(table) == [*relation_heads.COLUMNS, *WITHOUT] and set(table["seed"]) == {1, 2}
    again = relation_heads.measure("mnli", dumps, RELATIONS)
    assert table.equals(again)


def test_a_sentence_that_lost_a_span_is_told_of(dump, capsys):
    far = RELATIONS[3] | {"arguments": [{"span": [40, 44], "role": "X"}]}
    path = dump(random_maps(LENGTHS))
    table = scores(relation_heads.measure("base", {(1, 0): path}, [*RELATIONS[:3], far, RELATIONS[4]]))
    assert set(table["n"]) == {4} and "1 sentences lack a span" in capsys.readouterr().err
    with pytest.raises(UserError, match="no sentence has its predicate"):
        relation_heads.measure("base", {(1, 0): path}, [row | {"predicate": [90, 95]} for row in RELATIONS])
    with pytest.raises(UserError, match="does not hold these relations"):
        relation_heads.measure("base", {(1, 0): path}, RELATIONS[::-1])


class Index:
    """What `sentences` reads of an activation file."""

    path = "made"

    def __init__(self, index):
        self.offsets, self.ids = index["example_offsets"], index["example_ids"]
        self.token_ids, self.char_start, self.char_end = (
            index[k] for k in ("token_ids", "char_start", "char_end")
        )


def test_all_473_sentences_are_aligned_and_read_as_the_notebook_reads_them(mirror, encoder, tmp_path):
    from transformers import BertTokenizer

    prepare_relations(mirror / "framenet_473.tsv", tmp_path, "mirror")
    relations = read_relations(tmp_path)
    tokenizer = BertTokenizer.from_pretrained(encoder)
    rows = [{"id": row["id"], "text_a": row["text"]} for row in relations]
    found = relation_heads.sentences(Index(encode(tokenizer, rows, 128)), relations)
    assert len(found) == len(relations) == 473
    rng = np.random.default_rng(0)
    for row, sentence in zip(relations, found):
        pieces = ["[CLS]", *tokenizer.tokenize(row["text"]), "[SEP]"]
        a = rng.random((len(pieces), len(pieces)))

        def cut(span, text=row["text"]):
            return tokenizer.tokenize(text[slice(*span)])

        links = [piece for each in row["arguments"] for piece in cut(each["span"])]
        assert [pieces[k] for k in sentence.arguments] == links
        assert [pieces[k] for k in sentence.predicate] == cut(row["predicate"])
        expected = max(a[pieces.index(s), pieces.index(t)] for s, t in zip(links, cut(row["predicate"])))
        pairs = relation_heads.READINGS["code_zip"](
            sentence.arguments, sentence.predicate, sentence.token_ids
        )
        assert a[pairs].max() == expected


def test_the_table_of_473_is_what_its_link_spans_say(mirror, tmp_path):
    sidecar = prepare_relations(mirror / "framenet_473.tsv", tmp_path, "mirror")
    rows = read_relations(tmp_path)
    assert (sidecar["sentences"], sidecar["arguments"]) == (473, 481) and "CC BY 3.0" in sidecar["licence"]
    assert sidecar["data"] == "framenet_473 473 sentences (mirror)"
    [row] = [row for row in rows if row["text"] == relation_heads.EXAMPLE]
    said = [row["text"][slice(*span)] for span in (row["predicate"], row["arguments"][0]["span"])]
    assert said == ["agitated", "He"] and json.loads(json.dumps(row)) == row
