from itertools import product

import numpy as np
import pytest

from bertshift.errors import UserError
from bertshift.metrics import relation_heads
from bertshift.rows.blocks import JACKKNIFE_COLUMNS

# Sentences, words of the predicate, words of each argument: first and behind the last.
MARKED = [
    ("ann saw bob", (1, 2), [(0, 1), (2, 3)]),
    ("bob saw a cat", (1, 2), [(0, 1), (2, 4)]),
    ("the cat saw ann", (2, 3), [(0, 2), (3, 4)]),
    ("dogs ran off", (2, 3), [(0, 1)]),
    ("ann ann saw ann", (2, 3), [(1, 2), (3, 4)]),
]
TEXTS = [text for text, *_ in MARKED]


def cut(word):
    """The tokenizer's pieces: two of a word of more than three letters."""
    return [word[:3], word[3:]] if len(word) > 3 else [word]


def spans_of(words):
    """Where words, or pieces of words, begin and end in the text."""
    spans, start = [], 0
    for parts in words:
        for part in parts:
            spans.append((start, start + len(part)))
            start += len(part)
        start += 1
    return spans


def relation(number, text, predicate, arguments):
    spans = spans_of([word] for word in text.split())
    predicate, *others = (
        [spans[first][0], spans[end - 1][1]] for first, end in (predicate, *arguments)
    )
    arguments = [{"span": span, "role": "X"} for span in others]
    return {"id": str(number), "text": text, "predicate": predicate, "arguments": arguments}


def pieces_of(text):
    return [piece for word in text.split() for piece in cut(word)]


LENGTHS = [len(pieces_of(text)) + 2 for text in TEXTS]
RELATIONS = [relation(number, *each) for number, each in enumerate(MARKED)]


@pytest.fixture
def dump(make_file):
    """Call it with maps [layers][sentences] of [heads, length, length] for a file whose tokenizer
    cuts words."""

    def write(maps, relations=RELATIONS, name="init1.npz"):
        texts = [row["text"] for row in relations]
        known = sorted({piece for text in texts for piece in pieces_of(text)})
        ids = [[1, *(3 + known.index(piece) for piece in pieces_of(text)), 2] for text in texts]
        spans = [[(0, 0), *spans_of(map(cut, text.split())), (0, 0)] for text in texts]
        spans = np.concatenate(spans)
        lengths = [len(own) for own in ids]
        return make_file(name, np.zeros((len(maps) + 1, sum(lengths), 1)), lengths, maps, token_ids=np.concatenate(ids),
                         char_start=spans[:, 0], char_end=spans[:, 1])  # fmt: skip

    return write


def random_maps(lengths=LENGTHS, layers=2, heads=3, seed=0):
    rng = np.random.default_rng(seed)
    return [
        [rng.dirichlet(np.ones(n), (heads, n)).astype(np.float32) for n in lengths]
        for _ in range(layers)
    ]


def positions(number):
    """Pieces of arguments and predicate, counted with [CLS]."""
    text, predicate, arguments = MARKED[number]
    ends = np.cumsum([0, *(len(cut(word)) for word in text.split())])

    def pieces(words):
        return range(1 + ends[words[0]], 1 + ends[words[1]])

    return [place for words in arguments for place in pieces(words)], [*pieces(predicate)]


def score(reading, a, number):
    """The score of one sentence and head, pair by pair."""
    arguments, predicate = positions(number)
    if reading == "code_zip":  # as the notebook does it, on lists of pieces
        pieces = ["[CLS]", *pieces_of(TEXTS[number]), "[SEP]"]
        sources, targets = (
            [pieces.index(pieces[k]) for k in part] for part in (arguments, predicate)
        )
        return max(a[s, t] for s, t in zip(sources, targets))
    forth = max(a[s, t] for s, t in product(arguments, predicate))
    back = max(a[t, s] for s, t in product(arguments, predicate))
    return {"max_fe_to_lu": forth, "max_lu_to_fe": back, "max_both": max(forth, back)}[reading]


def scores(path, relations=RELATIONS):
    table = relation_heads.measure("base", {(1, 0): path}, relations)
    rows = table[table["metric"] == "relation_heads"]
    return rows.set_index(["variant", "layer", "head"]).sort_index()


def test_every_reading_is_what_its_pairs_say(dump):
    maps = random_maps()
    found = scores(dump(maps))
    for reading in relation_heads.READINGS:
        rows = found.loc[reading]
        for layer, head in product((1, 2), (1, 2, 3)):
            each = [
                score(reading, maps[layer - 1][n][head - 1].astype(float), n) for n in range(5)
            ]
            row = rows.loc[layer, head]
            assert (row["value"], row["sd"]) == pytest.approx(
                (np.mean(each), np.std(each, ddof=1)), rel=1e-12
            )
            left = [
                np.delete(each, sentence).mean() for sentence in range(5)
            ]  # fewer than there are blocks
            assert (
                row[JACKKNIFE_COLUMNS[:5]].to_numpy(float) == pytest.approx(left, abs=1e-12)
                and row["n"] == 5
            )
        heads = rows.query("head > 0")
        means = rows.query("head == 0")["value"].to_numpy()
        assert means == pytest.approx(heads["value"].groupby("layer").mean().to_numpy(), abs=1e-12)
        assert heads.sort_values("value", ascending=False)["rank"].tolist() == [1, 2, 3, 4, 5, 6]
        assert heads["heads_99"].iloc[0] == pytest.approx(np.percentile(heads["value"], 99))


def test_the_null_is_the_mean_over_all_sentences_that_can_stand_in(dump):
    maps = random_maps(layers=1, heads=2)
    found = scores(dump(maps)).loc["max_fe_to_lu", 1, 2]
    expected, matched = [], 0
    for number, length in enumerate(LENGTHS):
        pairs = set(product(*positions(number)))
        others = []
        for other in range(5):
            own = {pair for s, t in product(*positions(other)) for pair in ((s, t), (t, s))}
            if other != number and LENGTHS[other] == length and not own & pairs:
                others.append(max(maps[0][other][1][pair] for pair in pairs))
        matched += bool(others)
        # A sentence without a match, as the first of its length, counts with its own score.
        expected.append(
            np.mean(others) if others else score("max_fe_to_lu", maps[0][number][1], number)
        )
    assert 0 < matched < 5 and found["null_n"] == matched
    assert found["null"] == pytest.approx(np.mean(expected)) and found["null_99"] >= found["null"]


def test_the_map_shown_is_the_papers_sentence_or_that_of_the_highest_score(dump):
    maps = random_maps()
    maps[1][2][0, :, :] = 0.01
    maps[1][2][0, :, 3] = 0.96  # head L2H1 looks at "saw" in the third sentence
    table = relation_heads.measure("base", {(1, 0): dump(maps)}, RELATIONS)
    shown = table[table["metric"] == "relation_map"].set_index(["layer", "head"])
    best = table[(table["variant"] == "max_fe_to_lu") & (table["rank"] <= 2)].set_index(
        ["layer", "head"]
    )
    assert set(shown.index) == set(best.index)
    head = shown.loc[[(2, 1)]]
    assert set(head["example"]) == {"2"}
    a = head.pivot(index="query", columns="key", values="value").to_numpy()
    np.testing.assert_array_equal(a, maps[1][2][0].astype(float))
    first = head[head["query"] == 1]
    assert first["key_token"].tolist() == ["[first]", "the", "cat", "saw", "ann", "[separator]"]
    assert first["key_part"].tolist() == ["", "argument", "argument", "predicate", "argument", ""]
    papers = [*RELATIONS[:4], relation(4, relation_heads.EXAMPLE, (2, 3), [(1, 2)])]
    lengths = [*LENGTHS[:4], len(pieces_of(relation_heads.EXAMPLE)) + 2]
    shown = relation_heads.measure("base", {(1, 0): dump(random_maps(lengths), papers)}, papers)
    assert set(shown.loc[shown["metric"] == "relation_map", "example"]) == {"4"}


def test_each_replicate_has_its_rows_and_twice_the_same_numbers(dump):
    dumps = {(1, seed): dump(random_maps(seed=seed), name=f"{seed}.npz") for seed in (1, 2)}
    table, again = (relation_heads.measure("mnli", dumps, RELATIONS) for _ in range(2))
    assert list(table) == [*relation_heads.COLUMNS, *JACKKNIFE_COLUMNS] and set(table["seed"]) == {
        1,
        2,
    }
    assert table.equals(again)


def test_a_sentence_that_lost_a_span_is_told_of(dump, capsys):
    far = RELATIONS[3] | {"arguments": [{"span": [40, 44], "role": "X"}]}
    path = dump(random_maps())
    assert set(scores(path, [*RELATIONS[:3], far, RELATIONS[4]])["n"]) == {4}
    assert "1 sentences lack a span" in capsys.readouterr().err
    with pytest.raises(UserError, match="no sentence has its predicate"):
        scores(path, [row | {"predicate": [90, 95]} for row in RELATIONS])
    with pytest.raises(UserError, match="does not hold these relations"):
        scores(path, RELATIONS[::-1])
