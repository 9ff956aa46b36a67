from itertools import chain, product

import numpy as np
import pytest
from made_tables import WITHOUT, in_columns

from bertshift.errors import UserError
from bertshift.metrics import relation_heads

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
    """Where words, as lists of pieces, begin and end in the text, piece by piece."""
    spans, start = [], 0
    for pieces in words:
        for piece in pieces:
            spans.append((start, start + len(piece)))
            start += len(piece)
        start += 1
    return spans


def relation(number, text, predicate, arguments):
    spans = spans_of([word] for word in text.split())
    predicate, *arguments = (
        [spans[first][0], spans[end - 1][1]] for first, end in (predicate, *arguments)
    )
    arguments = [{"span": span, "role": "X"} for span in arguments]
    return {"id": str(number), "text": text, "predicate": predicate, "arguments": arguments}


def pieces_of(text):
    return [piece for word in text.split() for piece in cut(word)]


LENGTHS = [len(pieces_of(text)) + 2 for text in TEXTS]
RELATIONS = [relation(number, *sentence) for number, sentence in enumerate(MARKED)]


@pytest.fixture
def dump(make_file):
    """Call it with maps [layers][sentences] of [heads, length, length] for a file whose tokenizer
    cuts words."""

    def write(maps, relations=RELATIONS, name="init1.npz"):
        ids, spans, lengths, known = [], [], [], {}
        for row in relations:
            pieces = pieces_of(row["text"])
            ids += [1, *(known.setdefault(piece, 3 + len(known)) for piece in pieces), 2]
            spans += [(0, 0), *spans_of(map(cut, row["text"].split())), (0, 0)]
            lengths.append(len(pieces) + 2)
        starts, ends = np.transpose(spans)
        states = np.zeros((len(maps) + 1, sum(lengths), 1))
        return make_file(name, states, lengths, maps, token_ids=np.array(ids), char_start=starts,
                         char_end=ends)  # fmt: skip

    return write


def random_maps(lengths=LENGTHS, layers=2, seed=0):
    rng = np.random.default_rng(seed)
    return [
        [rng.dirichlet(np.ones(n), (3, n)).astype(np.float32) for n in lengths]
        for _ in range(layers)
    ]


def positions(number):
    """Pieces of arguments and predicate, counted with [CLS]."""
    text, predicate, arguments = MARKED[number]
    ends = np.cumsum([1, *(len(cut(word)) for word in text.split())])
    predicate, *arguments = (
        [*range(ends[first], ends[end])] for first, end in (predicate, *arguments)
    )
    return [*chain(*arguments)], predicate


def score(reading, a, number):
    """The score of one sentence and head, pair by pair."""
    arguments, predicate = positions(number)
    if reading == "code_zip":  # as the notebook does it, on lists of pieces
        pieces = ["[CLS]", *pieces_of(TEXTS[number]), "[SEP]"]
        sources, targets = (
            [pieces.index(pieces[k]) for k in part] for part in (arguments, predicate)
        )
        return max(a[s, t] for s, t in zip(sources, targets))
    forth = a[np.ix_(arguments, predicate)].max()
    back = a[np.ix_(predicate, arguments)].max()
    return {"max_fe_to_lu": forth, "max_lu_to_fe": back, "max_both": max(forth, back)}[reading]


def scores(path, relations=RELATIONS):
    table = in_columns(relation_heads.measure("base", {(1, 0): path}, relations))
    rows = table[table["metric"] == "relation_heads"]
    return rows.set_index(["variant", "layer", "head"]).sort_index()


def test_every_reading_is_what_its_pairs_say(dump):
    maps = random_maps()
    table = scores(dump(maps))
    assert (table["n"] == 5).all()
    for reading in relation_heads.READINGS:
        rows = table.loc[reading]
        for layer, head in product((1, 2), (1, 2, 3)):
            values = np.array(
                [score(reading, maps[layer - 1][n][head - 1].astype(float), n) for n in range(5)]
            )
            row = rows.loc[layer, head]
            assert row["value"] == pytest.approx(values.mean(), rel=1e-12)
            assert row["sd"] == pytest.approx(values.std(ddof=1), rel=1e-12)
            without = (values.sum() - values) / 4  # fewer than there are blocks
            jackknife = row[WITHOUT[:5]].to_numpy(float)
            assert jackknife == pytest.approx(without, abs=1e-12)
        heads = rows.query("head > 0")
        means = rows.query("head == 0")["value"].to_numpy()
        assert means == pytest.approx(heads["value"].groupby("layer").mean().to_numpy(), abs=1e-12)
        assert heads.sort_values("value", ascending=False)["rank"].tolist() == [1, 2, 3, 4, 5, 6]
        assert heads["heads_99"].iloc[0] == pytest.approx(np.percentile(heads["value"], 99))


def test_the_null_is_the_mean_over_all_sentences_that_can_stand_in(dump):
    maps = random_maps(layers=1)
    row = scores(dump(maps)).loc["max_fe_to_lu", 1, 2]
    expected, matched = [], 0
    for number, length in enumerate(LENGTHS):
        pairs = set(product(*positions(number)))
        values = []
        for donor in range(5):
            donor_pairs = set(product(*positions(donor)))
            donor_pairs |= {(t, s) for s, t in donor_pairs}
            if donor != number and LENGTHS[donor] == length and not donor_pairs & pairs:
                values.append(max(maps[0][donor][1][pair] for pair in pairs))
        matched += bool(values)
        # A sentence without a match, as the first of its length, counts with its own score.
        expected.append(np.mean(values or score("max_fe_to_lu", maps[0][number][1], number)))
    assert 0 < matched < 5 and row["null_n"] == matched
    assert row["null"] == pytest.approx(np.mean(expected)) and row["null_99"] >= row["null"]


def test_the_map_shown_is_that_of_the_highest_score(dump):
    maps = random_maps()
    maps[1][2][0, :, :] = 0.01
    maps[1][2][0, :, 3] = 0.96  # head L2H1 looks at "saw" in the third sentence
    table = in_columns(relation_heads.measure("base", {(1, 0): dump(maps)}, RELATIONS))
    cells = table[table["metric"] == "relation_map"].set_index(["layer", "head"]).sort_index()
    best = table.query("variant == 'max_fe_to_lu' and rank <= 2")
    assert set(cells.index) == set(zip(best["layer"], best["head"]))
    head = cells.loc[2, 1]
    assert set(head["example"]) == {"2"}
    weights = head.pivot(index="query", columns="key", values="value").to_numpy()
    np.testing.assert_array_equal(weights, maps[1][2][0].astype(float))
    first = head[head["query"] == 1].sort_values("key")
    assert first["key_token"].tolist() == ["[first]", "the", "cat", "saw", "ann", "[separator]"]
    assert first["key_part"].tolist() == ["", "argument", "argument", "predicate", "argument", ""]


def test_the_map_shown_is_that_of_the_papers_sentence_if_it_is_there(dump):
    relations = [*RELATIONS[:4], relation(4, relation_heads.EXAMPLE, (2, 3), [(1, 2)])]
    lengths = [*LENGTHS[:4], len(pieces_of(relation_heads.EXAMPLE)) + 2]
    path = dump(random_maps(lengths), relations)
    table = in_columns(relation_heads.measure("base", {(1, 0): path}, relations))
    assert set(table.loc[table["metric"] == "relation_map", "example"]) == {"4"}


def test_each_replicate_has_its_rows_and_twice_the_same_numbers(dump):
    dumps = {(1, seed): dump(random_maps(seed=seed), name=f"{seed}.npz") for seed in (1, 2)}
    table = in_columns(relation_heads.measure("mnli", dumps, RELATIONS))
    assert list(table) == [*relation_heads.COLUMNS, *WITHOUT]
    assert set(table["seed"]) == {1, 2}
    assert table.equals(in_columns(relation_heads.measure("mnli", dumps, RELATIONS)))


def test_a_sentence_that_lost_a_span_is_told_of(dump, capsys):
    far = RELATIONS[3] | {"arguments": [{"span": [40, 44], "role": "X"}]}
    path = dump(random_maps())
    assert set(scores(path, [*RELATIONS[:3], far, RELATIONS[4]])["n"]) == {4}
    assert "1 sentences lack a span" in capsys.readouterr().err
    with pytest.raises(UserError, match="no sentence has its predicate"):
        scores(path, [row | {"predicate": [90, 95]} for row in RELATIONS])
    with pytest.raises(UserError, match="does not hold these relations"):
        scores(path, RELATIONS[::-1])
