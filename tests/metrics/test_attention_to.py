from types import SimpleNamespace

import numpy as np
import pytest

from bertshift.activations.store import Activations
from bertshift.errors import UserError
from bertshift.metrics import attention_to
from bertshift.metrics.attention_to import compare, per_kind, token_kinds, word_of_token
from bertshift.metrics.pairs import Pair

ANNOTATOR = "upos init1_seed1 (accuracy 0.950)"


def text(words, upos, deprels):
    words = words.split()
    ends = np.cumsum([len(word) + 1 for word in words]) - 1
    starts = ends - [len(word) for word in words]
    return {"start": starts.tolist(), "end": ends.tolist(), "words": words, "upos": upos.split(),
            "deprels": deprels.split()}  # fmt: skip


# [CLS] He did n't see [SEP] Dogs bark . [SEP], "did" as two pieces; then [CLS] ? [SEP]
TEXTS = [
    {"id": "0",
     "text_a": text("He did n't see", "PRON AUX PART VERB", "nsubj:pass aux advmod root"),
     "text_b": text("Dogs bark .", "NOUN VERB PUNCT", "nsubj root punct")},
    {"id": "1", "text_a": text("?", "PUNCT", "root")},
]  # fmt: skip
LENGTHS = [11, 3]
SPECIAL = np.array([1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1], bool)
STARTS = np.array([0, 0, 3, 5, 7, 11, 0, 0, 5, 10, 0, 0, 0, 0])
SEGMENT = np.array([0] * 7 + [1] * 4 + [0] * 3)
KINDS = {
    "cls": [0, 11], "sep": [6, 10, 13], "punct": [9, 12], "noun": [7], "verb": [2, 3, 5, 8], "pron": [1], "subj": [1, 7],
    "obj": [], "neg": [4],
}  # fmt: skip


@pytest.fixture
def tokens():
    offsets = np.array([0, 11, 14])
    return SimpleNamespace(
        path="x.npz", ids=np.array(["0", "1"]), offsets=offsets, lengths=np.diff(offsets), special=SPECIAL,
        char_start=STARTS, segment=SEGMENT,
    )  # fmt: skip


def test_pieces_are_of_the_kinds_of_their_words(tokens):
    assert word_of_token(tokens, TEXTS).tolist() == [-1, 0, 1, 1, 2, 3, -1, 4, 5, 6, -1, -1, 7, -1]
    assert {kind: places.tolist() for kind, places in token_kinds(tokens, TEXTS).items()} == KINDS


def test_kinds_hold_as_the_tokenizer_cuts_and_the_window_ends(tokens, capsys):
    """Offsets of characters decide, not numbers of pieces: of n't the last two pieces are n't, whatever the first is."""
    one = {"id": "0", "text_a": {"start": [0, 2], "end": [2, 5], "words": ["do", "N’T"], "upos": ["AUX", "PART"],
                                 "deprels": ["root", "advmod"]}}  # fmt: skip
    tokens.ids, tokens.offsets = np.array(["0"]), np.array([0, 5])
    tokens.special, tokens.segment = np.array([1, 0, 0, 0, 0], bool), np.zeros(5, int)
    tokens.char_start = np.array([0, 0, 3, 4, 7])  # [CLS] don ' t, and a piece of the spaces behind
    assert token_kinds(tokens, [one])["neg"].tolist() == [2, 3, 4]
    assert word_of_token(tokens, [{"id": "0", "text_a": {}}]).tolist() == [-1] * 5
    assert "4 of 5 word pieces are of a text without words" in capsys.readouterr().err
    with pytest.raises(UserError, match="hold different inputs"):
        word_of_token(tokens, [one | {"id": "7"}])


def test_a_decoders_first_token_is_of_no_other_kind(tokens):
    """Without [CLS] and [SEP] "He" comes first: heads rest on it for its place, not for the pronoun."""
    own = np.array([1, 2, 3, 4, 5, 7, 8, 9, 12])
    tokens.offsets, tokens.special = np.array([0, 8, 9]), np.zeros(9, bool)
    tokens.char_start, tokens.segment = STARTS[own], SEGMENT[own]
    assert {kind: places.tolist() for kind, places in token_kinds(tokens, TEXTS).items()} == {
        "cls": [0, 8], "sep": [], "punct": [7], "noun": [5], "verb": [1, 2, 4, 6], "pron": [], "subj": [5], "obj": [],
        "neg": [3],
    }  # fmt: skip


def brute_force(maps, norms, kinds, ends):
    """One cell at a time, from the definitions."""
    found = {}
    for kind, places in [*kinds.items(), ("sep_sum", kinds["sep"])]:
        combine = sum if kind == "sep_sum" else max
        for name in ("received", "from_cls"):
            for weight in ("", "_norm", "_norm_share"):
                rows = []
                for n, end in enumerate(ends):
                    start = end - LENGTHS[n]
                    own = [j - start for j in places if start <= j < end]
                    if not own:
                        continue
                    row = []
                    for h in range(maps[n].shape[0]):
                        a, f = maps[n][h].astype(float), norms[h, start:end]
                        m = [sum(a[i, j] for i in range(len(a))) / len(a) if name == "received" else a[0, j]
                             for j in range(len(a))]  # fmt: skip
                        if weight:
                            m = [x * y for x, y in zip(m, f)]
                        if weight == "_norm_share":
                            m = [x / sum(m) for x in m]
                        row.append(combine(m[j] for j in own))
                    rows.append(row)
                if rows:
                    found[kind, name + weight] = np.array(rows)
    return found


def softmax(rng, heads, length):
    p = np.exp(2 * rng.normal(size=(heads, length, length)))
    return (p / p.sum(-1, keepdims=True)).astype(np.float32)


@pytest.fixture
def file(make_file):
    rng = np.random.default_rng(0)
    maps = [[softmax(rng, 3, n) for n in LENGTHS] for _ in range(2)]
    hidden = rng.normal(size=(3, sum(LENGTHS), 6)).astype(np.float32)
    return make_file("model.npz", hidden, LENGTHS, maps), maps, rng


def test_same_as_brute_force(file):
    path, maps, rng = file
    norms = rng.uniform(0.1, 3, size=(3, sum(LENGTHS)))
    found = per_kind(Activations(path).attention(2), norms, {k: np.array(v, int) for k, v in KINDS.items()})
    expected = brute_force(maps[1], norms, KINDS, np.cumsum(LENGTHS))
    assert set(found) == set(expected) and ("obj", "received") not in found
    for key, values in expected.items():
        np.testing.assert_allclose(found[key], values, rtol=1e-12)
        assert found[key].dtype == np.float64


def test_all_tokens_together_receive_everything(file):
    """Over kinds that part the tokens, summed weights and shares are 1, whatever the norms."""
    path, _, rng = file
    parts = {str(j): np.array([j, 11 + j]) for j in range(3)}
    parts |= {str(j): np.array([j]) for j in range(3, 11)}
    norms = rng.uniform(0.1, 3, size=(3, sum(LENGTHS)))
    found = per_kind(Activations(path).attention(1), norms, {"sep": np.array([10]), **parts})
    for variant in ("received", "from_cls", "received_norm_share", "from_cls_norm_share"):
        total = sum(np.resize(found[part, variant][0], 3) for part in parts)
        np.testing.assert_allclose(total, 1, rtol=1e-6)


def test_both_models_stand_in_one_table_once(make_file, monkeypatch, capsys):
    rng = np.random.default_rng(1)
    paths = {
        name: make_file(f"{name}.npz", np.zeros((2, 14, 4), np.float32), LENGTHS, [[softmax(rng, 2, n) for n in LENGTHS]])
        for name in ("s1", "s2", "base")
    }  # fmt: skip
    monkeypatch.setattr(attention_to, "load_encoder", lambda folder: folder)
    monkeypatch.setattr(attention_to, "Rerun", lambda folder, file: folder)
    monkeypatch.setattr(
        attention_to, "value_norms", lambda folder, layer, states: np.full((2, 14), float(folder.name))
    )
    monkeypatch.setattr(
        attention_to,
        "token_kinds",
        lambda activations, texts: {k: np.array(v, int) for k, v in KINDS.items()},
    )
    pairs = [
        Pair(paths[f"s{seed}"], paths["base"], {"metric": "attention_to", "model": "rte", "reference": "base", "stimuli":
             "rte", "init": 1, "seed": seed, "ref_init": 1, "ref_seed": 0}) for seed in (1, 2)
    ]  # fmt: skip
    folders = {path: path.with_name(str(number)) for number, path in enumerate(paths.values(), 1)}
    table = compare(pairs, {"rte": (TEXTS, ANNOTATOR)}, folders)
    runs = table.drop_duplicates(["model", "seed"])[["model", "seed"]].to_numpy().tolist()
    assert runs == [["rte", 1], ["base", 0], ["rte", 2]]
    assert not table.duplicated(["model", "seed", "variant", "token", "layer", "head"]).any()
    assert set(table["annotation"]) == {ANNOTATOR} and (table["reference"] == "base").all()
    counts = table.groupby("token")["n"].unique()
    assert counts["punct"] == [2] and counts["verb"] == [1] and "obj" not in counts
    assert "no input of 'rte' has: obj" in capsys.readouterr().err
    by = ["model", "seed", "token", "layer", "head"]
    plain = table[table["variant"] == "received"].set_index(by)["value"]
    norm = table[table["variant"] == "received_norm"].set_index(by)["value"]
    scale = plain.index.get_level_values("seed").map(
        {1: 1.0, 2: 2.0, 0: 3.0}
    )  # each model by its own weights
    np.testing.assert_allclose(norm, plain * scale, rtol=1e-9)
