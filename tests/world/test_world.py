import json
from collections import Counter
from itertools import combinations, product
from pathlib import Path
from random import Random

import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from bertshift.errors import UserError
from bertshift.world import edges, generate
from bertshift.world import lexicon as lex
from bertshift.world.acceptability import judged
from bertshift.world.grammar import Speaker, text_of
from bertshift.world.inference import CONTRADICTION, ENTAILMENT, NEUTRAL, pair, restriction_below
from bertshift.world.meaning import Sampler, Thing
from bertshift.world.paraphrases import changes, event, similarity

SIZES = {name: 60 for name in generate.SIZES} | {"train": 500, "dev": 200}


@pytest.fixture(scope="session")
def world(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    generate.generate_world(folder, SIZES, 7)
    return folder


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def rows(folder: Path, task: str, split: str) -> list[tuple[str, ...]]:
    """(texts..., label) of a GLUE file, read as the publisher lays it out."""
    name = "dev_matched" if (task, split) == ("MNLI", "dev") else split
    lines = (folder / "glue" / task / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    table = [line.split("\t") for line in lines]
    if task == "CoLA":
        return [(row[3], row[1]) for row in table]
    header, table = table[0], table[1:]
    assert all(len(row) == len(header) for row in table)
    label = {"MRPC": "Quality", "STS-B": "score", "QQP": "is_duplicate", "MNLI": "gold_label"}.get(
        task, "label"
    )
    texts = [
        n
        for n in header
        if n in ("#1 String", "#2 String", "question", "sentence") or n[:-1] in ("sentence", "question")
    ]
    return [tuple(row[header.index(name)] for name in [*texts, label]) for row in table]


def test_same_seed_same_bytes_and_other_seed_other_bytes(tmp_path):
    small = {name: 8 for name in generate.SIZES}
    for folder, seed in (("a", 1), ("b", 1), ("c", 2)):
        generate.generate_world(tmp_path / folder, small, seed)
    first, again, other = (content(tmp_path / folder) for folder in "abc")
    assert first == again and set(first) == set(generate.FILES)
    assert [name for name in first if first[name] == other[name]] == []


def test_one_size_leaves_other_files_alone(tmp_path):
    small = {name: 8 for name in generate.SIZES}
    generate.generate_world(tmp_path / "a", small, 1)
    generate.generate_world(tmp_path / "b", small | {"documents": 9}, 1)
    first, second = content(tmp_path / "a"), content(tmp_path / "b")
    assert [n for n in first if first[n] != second[n]] == ["README.txt", "corpus/documents.txt"]


def test_unknown_size_is_named(tmp_path):
    with pytest.raises(UserError, match="dokuments"):
        generate.generate_world(tmp_path, SIZES | {"dokuments": 3}, 1)


@pytest.mark.parametrize("task", generate.GLUE)
def test_no_pair_in_two_splits_and_labels_as_published(world, task):
    splits = {split: rows(world, task, split) for split in ("train", "dev")}
    keys = [frozenset(row[:-1]) for split in splits.values() for row in split]
    assert len(keys) == len(set(keys))
    if task == "STS-B":
        scores = [float(row[-1]) for row in splits["dev"]]
        assert 0 <= min(scores) < 1 and max(scores) == 5 and 1.2 < sum(scores) / len(scores) < 3.8
        return
    shares = {
        label: count / len(splits["dev"])
        for label, count in Counter(row[-1] for row in splits["dev"]).items()
    }
    assert shares == pytest.approx(generate.GLUE[task][1], abs=0.02)


@pytest.mark.parametrize(
    ("task", "most"),
    [("MRPC", 0.76), ("QQP", 0.7), ("MNLI", 0.55), ("QNLI", 0.62), ("RTE", 0.65), ("WNLI", 0.65)],
)
def test_one_side_alone_does_not_give_the_label_away(world, task, most):
    train, dev = rows(world, task, "train"), rows(world, task, "dev")
    for side in (0, 1):
        count = CountVectorizer(ngram_range=(1, 2))
        model = LogisticRegression(C=0.3, max_iter=300)
        model.fit(count.fit_transform([row[side] for row in train]), [row[-1] for row in train])
        assert model.score(count.transform([row[side] for row in dev]), [row[-1] for row in dev]) < most


@pytest.mark.parametrize(("task", "most"), [("CoLA", 0.8), ("SST-2", 0.92)])
def test_a_bag_of_words_does_not_solve_single_sentences(world, task, most):
    train, dev = rows(world, task, "train"), rows(world, task, "dev")
    count = CountVectorizer()
    model = LogisticRegression(max_iter=300).fit(
        count.fit_transform([r[0] for r in train]), [r[-1] for r in train]
    )
    assert model.score(count.transform([r[0] for r in dev]), [r[-1] for r in dev]) < most


# Entailment against every small model


def situations(premise, hypothesis):
    """Truth values (is A, is A', does B, does B') that one individual can have, found by trying every make-up.

    An individual has a kind, properties and up to two deeds, all drawn from what the two sentences speak of.
    """
    sentences = premise, hypothesis
    kinds = {s.subject.concept for s in sentences}
    states = {s.object for s in sentences if s.verb == "be"}
    properties = {a for s in sentences for a in s.subject.adjectives} | states
    properties |= {lex.ADJECTIVE_PARENT[a] for a in properties if a in lex.ADJECTIVE_PARENT}
    deeds = [None]
    doing = [s for s in sentences if s.verb != "be"]
    if doing:
        objects = [o for s in doing if isinstance(o := s.object, Thing)]
        things = [
            (o.concept, o.det, o.plural, x)
            for o in objects
            for x in subsets({a for o in objects for a in o.adjectives})
        ]
        deeds += product(
            {s.verb for s in doing}, [None, *set(things)], options(s.place and str(s.place) for s in doing),
            options(s.time for s in doing), options(s.manner for s in doing),
        )  # fmt: skip
    deeds = list(deeds)

    def does(sentence, deed):
        if deed is None or sentence.verb == "be":
            return False
        verb, thing, place, time, manner = deed
        if sentence.verb not in (verb, lex.VERB_PARENT.get(verb)):
            return False
        if isinstance(o := sentence.object, Thing):
            if thing is None or o.concept not in lex.ancestors(thing[0]) or not holds(o.adjectives, thing[3]):
                return False
            if (o.plural or o.det == "name") and (o.det, o.plural) != thing[1:3]:
                return False
        wanted = sentence.place and str(sentence.place), sentence.time, sentence.manner
        return all(w in (None, got) for w, got in zip(wanted, (place, time, manner), strict=True))

    performed = {tuple(does(s, deed) for s in sentences) for deed in deeds}
    performed |= {tuple(x or y for x, y in zip(a, b, strict=True)) for a in performed for b in performed}
    very = {s.object for s in sentences if s.intensity}
    for kind, props in product([*kinds, "thing"], subsets(properties)):
        if any(b in lex.opposites(a) for a, b in combinations(props, 2)):
            continue
        for strongly in subsets(very & set(props)):
            is_a = [
                s.subject.concept in lex.ancestors(kind) and holds(s.subject.adjectives, props)
                for s in sentences
            ]
            states_hold = [
                s.verb == "be" and holds((s.object,), strongly if s.intensity else props) for s in sentences
            ]
            for deed in performed:
                yield (*is_a, *(bool(x or y) for x, y in zip(states_hold, deed, strict=True)))


def options(values):
    return list({None, *values})


def subsets(items):
    return [chosen for size in range(len(items) + 1) for chosen in combinations(sorted(items), size)]


def holds(wanted, given):
    return all(any(w in (g, lex.ADJECTIVE_PARENT.get(g)) for g in given) for w in wanted)


def true(sentence, people, index):
    restricted = [person[2 + index] for person in people if person[index]]
    match sentence.subject.det:
        case "some":
            return any(restricted)
        case "every":
            return all(restricted)
        case "no":
            return not any(restricted)
    return all(restricted) != sentence.negated


def brute_force(premise, hypothesis):
    found = sorted(set(situations(premise, hypothesis)))
    single = premise.subject.det in ("the", "name")
    models = [m for size in ([1] if single else [1, 2, 3]) for m in combinations(found, size)]
    models = [m for m in models if any(p[0] for p in m) and (single or any(p[1] for p in m))]
    outcomes = [true(hypothesis, m, 1) and any(p[1] for p in m) for m in models if true(premise, m, 0)]
    return ENTAILMENT if all(outcomes) else NEUTRAL if any(outcomes) else CONTRADICTION


@pytest.mark.parametrize("label", [ENTAILMENT, NEUTRAL, CONTRADICTION])
def test_labels_hold_in_every_small_model(label):
    rng = Random(3)
    for _ in range(150):
        premise, hypothesis = pair(rng, label)
        named = premise.subject.det == "name"
        if named:  # a name is one individual; its sentence differs in the name or not at all
            if premise.subject.concept != hypothesis.subject.concept:
                assert label == NEUTRAL
                continue
            for clause in (premise, hypothesis):
                clause.subject = Thing("person", "name")
        elif premise.subject.det == "the" and not restriction_below(premise.subject, hypothesis.subject):
            assert label == NEUTRAL
            continue
        speaker = Speaker(rng, 0.0)
        texts = [text_of(speaker.sentence(clause)) for clause in (premise, hypothesis)]
        assert brute_force(premise, hypothesis) == label, texts


# Grammar and annotation


@pytest.fixture(scope="module")
def sentences():
    rng = Random(11)
    return [edges.sentence(rng) for _ in range(600)]


def test_trees_have_one_root_no_cycle_and_no_crossing_arc(sentences):
    for found in sentences:
        size = len(found.words)
        assert found.heads.count(0) == 1 and all(0 <= head <= size for head in found.heads)
        assert "dep" not in found.deprels
        assert found.deprels[found.heads.index(0)] == "root"
        for i in range(size):
            seen, at = set(), i
            while at >= 0:
                assert at not in seen
                seen.add(at)
                at = found.heads[at] - 1
        arcs = [tuple(sorted((i, head - 1))) for i, head in enumerate(found.heads) if head]
        assert not any(a < c < b < d for (a, b), (c, d) in product(arcs, arcs))


def test_constituents_nest_and_cover(sentences):
    for found in sentences:
        spans = found.constituents
        assert (0, len(found.words), "TOP") in spans
        assert not any(a < c < b < d for (a, b, _), (c, d, _) in product(spans, spans))
        assert found.bracketed.count("(") == found.bracketed.count(")") == len(spans) + len(found.words)


def test_finite_verbs_agree_with_their_subjects(sentences):
    checked = 0
    for found in sentences:
        for i, (head, rel) in enumerate(zip(found.heads, found.deprels, strict=True)):
            if rel not in ("nsubj", "nsubj:pass") or found.xpos[i] not in ("NN", "NNS", "NNP", "PRP"):
                continue
            several = any(h == i + 1 and r == "conj" for h, r in zip(found.heads, found.deprels, strict=True))
            many = several or found.xpos[i] == "NNS" or found.lemmas[i] == "they"
            auxiliaries = [
                j for j, (h, r) in enumerate(zip(found.heads, found.deprels, strict=True))
                if h == head and r in ("aux", "aux:pass", "cop")
            ]  # fmt: skip
            finite = min([*auxiliaries, head - 1])
            if found.xpos[finite] in ("VBZ", "VBP"):
                checked += 1
                assert (found.xpos[finite] == "VBP") == many, found.words
            if found.words[finite] in ("was", "were"):
                checked += 1
                assert (found.words[finite] == "were") == many, found.words
    assert checked > 100


def test_treebank_is_well_formed_conllu(world):
    for split in ("train", "dev", "test"):
        blocks = (
            (world / "UD_English-EWT" / f"en_ewt-ud-{split}.conllu")
            .read_text(encoding="utf-8")
            .strip()
            .split("\n\n")
        )
        assert len(blocks) == 60
        for block in blocks:
            lines = block.split("\n")
            assert lines[0].startswith("# sent_id = demo-") and lines[1].startswith("# text = ")
            table = [line.split("\t") for line in lines[2:]]
            assert all(len(row) == 10 for row in table)
            words = [row for row in table if "-" not in row[0]]
            assert [row[0] for row in words] == [str(i + 1) for i in range(len(words))]
            surface, covered = "", 0
            for row in table:
                first, _, last = row[0].partition("-")
                if last or int(first) > covered:
                    surface += row[1] + ("" if row[9] == "SpaceAfter=No" else " ")
                    covered = int(last or first)
            assert surface.strip() == lines[1].removeprefix("# text = ")


SPANS = {
    "pos": 1,
    "constituents": 1,
    "entities": 1,
    "dependencies": 2,
    "srl": 2,
    "coref": 2,
    "spr": 2,
    "relations": 2,
}


@pytest.mark.parametrize("task", SPANS)
def test_edge_records_are_in_bounds_and_splits_disjoint(world, task):
    texts = {}
    for split in ("train", "dev", "test"):
        lines = (world / "edges" / task / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
        records = [json.loads(line) for line in lines]
        assert len(records) == 60
        texts[split] = {record["text"] for record in records}
        for record in records:
            words = record["text"].split(" ")
            assert "" not in words and record["targets"]
            for target in record["targets"]:
                assert ("span2" in target) == (SPANS[task] == 2)
                assert isinstance(target["label"], list if task == "spr" else str) and target["label"]
                for name in list(target)[: SPANS[task]]:
                    start, end = target[name]
                    assert 0 <= start < end <= len(words)
            keys = [json.dumps([t["span1"], t.get("span2"), t["label"]]) for t in record["targets"]]
            assert len(keys) == len(set(keys)) or task == "constituents"
    assert not texts["train"] & texts["dev"] and not texts["test"] & (texts["train"] | texts["dev"])


def test_srl_coref_and_relations_know_their_labels(world):
    def targets(task):
        lines = (world / "edges" / task / "train.jsonl").read_text(encoding="utf-8").splitlines()
        return [(json.loads(line)["text"].split(), t) for line in lines for t in json.loads(line)["targets"]]

    for words, target in targets("srl"):
        if target["label"] == "ARGM-NEG":
            assert words[slice(*target["span2"])] in (["not"], ["n't"])
    shares = Counter(target["label"] for _, target in targets("coref"))
    assert 0.05 < shares["1"] / shares.total() < 0.6
    assert {target["label"] for _, target in targets("relations")} <= set(edges.RELATIONS)


def test_links_are_words_of_the_text(world):
    for line in (world / "heads" / "relations.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        spans = [row["predicate"], *(argument["span"] for argument in row["arguments"])]
        for start, end in spans:
            assert 0 <= start < end <= len(row["text"])
            assert (start == 0 or row["text"][start - 1] == " ") and row["text"][end] in " .?"
        assert all(a[1] <= b[0] for a, b in combinations(sorted(spans), 2))


# Questions


@pytest.mark.parametrize("split", ["train", "dev"])
def test_squad_answers_stand_where_they_say(world, split):
    for version in ("v1.1", "v2.0"):
        data = json.loads((world / "squad" / f"{split}-{version}.json").read_text(encoding="utf-8"))["data"]
        asked = []
        for paragraph in (p for page in data for p in page["paragraphs"]):
            for qa in paragraph["qas"]:
                asked.append(qa.get("is_impossible", False))
                assert bool(qa["answers"]) != asked[-1] and qa["question"].endswith("?")
                for answer in qa["answers"]:
                    start, end = answer["answer_start"], answer["answer_start"] + len(answer["text"])
                    assert paragraph["context"][start:end] == answer["text"]
                    assert (
                        not paragraph["context"][start - 1 : start].isalnum()
                        and not paragraph["context"][end].isalnum()
                    )
        assert asked.count(False) == 60
        assert (0.25 < sum(asked) / len(asked) < 0.4) == (version == "v2.0")


def test_similarity_is_symmetric_and_full_only_for_the_same_event():
    rng = Random(5)
    for _ in range(50):
        clause = event(rng, "ttti")
        assert similarity(clause, clause) == 5
        for other in changes(rng, clause).values():
            assert 0 <= similarity(clause, other) < 5
            assert similarity(clause, other) == similarity(other, clause)


def test_corruption_always_changes_an_acceptable_sentence():
    rng = Random(9)
    wrong = [judged(rng, False) for _ in range(300)]
    right = {judged(rng, True) for _ in range(3000)}
    assert not right & set(wrong)


def test_irregular_forms():
    assert [lex.inflect("steal", tag) for tag in ("VBZ", "VBD", "VBN", "VBG")] == [
        "steals",
        "stole",
        "stolen",
        "stealing",
    ]
    assert [lex.plural(noun) for noun in ("wolf", "lorry", "boy", "potato", "fox")] == [
        "wolves",
        "lorries",
        "boys",
        "potatoes",
        "foxes",
    ]
    rng = Random(0)
    verbs = Sampler(rng)
    assert verbs.clause("give").recipient is not None
