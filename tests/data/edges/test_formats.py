"""The other formats on small invented files."""

import io
import json
import re
import tarfile

import pytest

from bertshift.data.edges import gum, jiant, propbank, semeval, spr, treebank, uner
from bertshift.errors import UserError

CONLLU = """\
# sent_id = a-1
1 Ann _ PROPN NNP _ 2 nsubj _ _
2 sings _ VERB VBZ _ 0 root _ _
2.1 sings _ VERB VBZ _ _ _ 2:conj _

# sent_id = a-2
1-2 dont _ _ _ _ _ _ _ _
1 do _ AUX VB _ 0 root _ _
2 nt _ PART RB _ 1 advmod:neg _ _

# sent_id = a-3
1 Go _ VERB VB _ 0 root _ _
"""


def test_dependencies_skip_lines_and_keep_sentences(file, brief):
    path = file("dev.conllu", CONLLU, tabs=True)
    split = treebank.read("dependencies", {"dev": path})["dev"]
    assert [brief(record) for record in split.records] == [
        [("nsubj", (0, 1), (1, 2)), ("root", (1, 2), (1, 2))],
        [("root", (0, 1), (0, 1)), ("advmod:neg", (1, 2), (0, 1))],
        [("root", (0, 1), (0, 1))],
    ]
    assert split.source == {"sentences": 3, "tokens": 5}
    lost = treebank.without_lost_by_jiant(split, path)
    assert [record["info"]["sentence"] for record in lost.records] == ["a-2"]
    assert lost.source == {"sentences": 1, "tokens": 2} and lost.irregular == {
        "sentences that jiant loses": 2
    }


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("_ 0 root _ _\n2.1", "_ 1 root _ _\n2.1", ":1: the sentence has 0 roots"),
        ("_ 2 nsubj", "_ 0 nsubj", ":1: the sentence has 2 roots"),
        ("_ 1 advmod", "_ 2 advmod", ":6: the sentence has a cycle"),
        ("_ 1 advmod", "_ 7 advmod", ":6: the sentence has a head 7"),
    ],
)
def test_dependencies_must_be_a_tree(file, old, new, message):
    with pytest.raises(UserError, match=f"dev.conllu{message}"):
        treebank.read("dependencies", {"dev": file("dev.conllu", CONLLU.replace(old, new), tabs=True)})


PROPBANK = """\
s-1 0 (    -LRB- (TOP(S(NP-SBJ* -    -       (ARG0*
s-1 1 Ann  NNP   *)             -    -       *)
s-1 2 is   VBZ   (VP*           be   be.03   (V*)
s-1 3 here RB    (ADVP*))))     -    -       (ARGM-LOC*)

s-2 0 Sing VB    (TOP(S(VP*)))  sing sing.01 (V*) (C-V*)
"""


def test_propbank(file, brief):
    path = file("train.tsv", PROPBANK, tabs=True)

    def read(task):
        split = propbank.read(task, {"train": path})["train"]
        return [brief(record) for record in split.records], split

    assert read("pos")[0][0][0] == ("-LRB-", (0, 1))
    assert read("constituents")[0][1] == [("TOP", (0, 1)), ("S", (0, 1)), ("VP", (0, 1))]
    frames, split = read("srl")
    assert frames == [[("ARG0", (2, 3), (0, 2)), ("ARGM-LOC", (2, 3), (3, 4))], []]
    assert split.source == {"sentences": 2, "tokens": 5, "frames": 2}
    assert split.irregular == {"frames without a verb": 1}
    assert split.records[0]["words"] == ["(", "Ann", "is", "here"] and split.records[0]["info"] == {
        "sentence": "s-1"
    }


@pytest.mark.parametrize("line", ["s-1 2 is VBZ (VP* be be.03", "s-1 3 is VBZ (VP* be be.03 (V*)"])
def test_propbank_rows_must_follow(file, line):
    text = re.sub("(?m)^s-1 2 .*", line, PROPBANK)
    with pytest.raises(UserError, match="train.tsv:3 is not word 2"):
        propbank.read("pos", {"train": file("train.tsv", text, tabs=True)})


def test_uner(file, brief):
    text = "# sent_id = u-1\n1 New B-LOC - x\n2 York I-LOC - x\n3 Paris B-LOC - x\n4 . O - -\n\n"
    text += "# sent_id = u-2\n1 Ann I-PER - x\n2 Oslo I-LOC - x\n\n1 Hm O - -\n"
    split = uner.read("entities", {"dev": file("dev.iob2", text, tabs=True)})["dev"]
    assert [brief(record) for record in split.records] == [
        [("LOC", (0, 2)), ("LOC", (2, 3))],
        [("PER", (0, 1)), ("LOC", (1, 2))],
        [],
    ]
    assert split.source == {"sentences": 3, "tokens": 7}
    assert split.irregular == {"I- tags that begin an entity": 2}
    with pytest.raises(UserError, match="dev.iob2:2"):
        uner.read("entities", {"dev": file("dev.iob2", "1 Ann B-PER\n2 Lee PER\n", tabs=True)})


SEMEVAL = (
    '1\t"The <e1>door</e1>, of the <e2>old house</e2>."\r\nComponent-Whole(e1,e2)\r\nComment: 1 x\r\n\r\n'
    '2\t""A<e1>b</e1>" is not <e2>c</e2>\'s  d."\r\nOther\r\nComment:\r\n\r\n'
)


def test_semeval_spans_touch_their_tags(file, brief):
    path = file("TRAIN.TXT", SEMEVAL)
    split = semeval.read("relations", {"train": path, "test": path})["test"]
    assert [record["words"] for record in split.records] == [
        ["The", "door,", "of", "the", "old", "house."],
        ['"Ab"', "is", "not", "c's", "d."],
    ]
    assert [brief(record) for record in split.records] == [
        [("Component-Whole(e1,e2)", (1, 2), (4, 6))],
        [("Other", (0, 1), (3, 4))],
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<e2>c", "c", "TEST.TXT:5 is not number, tab"),
        ("<e2>c</e2>", "<e2></e2> ", r"TEST.TXT:5: target 1 has the empty span2"),
        ("\nOther", "\nCause", "TEST.TXT:6 has no relation but 'Cause'"),
        ("Other\r\nComment:\r\n\r\n", "", "TEST.TXT:6 has no relation but ''"),
    ],
)
def test_semeval_faults(file, old, new, message):
    files = {"train": file("TRAIN.TXT", SEMEVAL), "test": file("TEST.TXT", SEMEVAL.replace(old, new))}
    with pytest.raises(UserError, match=message):
        semeval.read("relations", files)


JIANT = {"text": "Ann sings", "info": {"a": 1}, "targets": [{"span1": [0, 1], "label": "NNP", "info": {}}]}


def read_jiant(file, *lines):
    return jiant.read("pos", {"train": file("train.jsonl", "\n".join(lines) + "\n")})["train"]


def test_jiant(file):
    read = read_jiant(file, json.dumps(JIANT))
    assert read.records == [{"words": ["Ann", "sings"], "info": JIANT["info"], "targets": JIANT["targets"]}]
    assert read.source == {"sentences": 1}


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '{"targets": []}',
        '{"text": "Ann"}',
        '{"text": "Ann  saw", "targets": []}',
        '{"text": "1\xa0000 men", "targets": []}',
        '{"text": "", "targets": []}',
    ],
)
def test_jiant_faults(file, line):
    with pytest.raises(UserError, match="train.jsonl:2"):
        read_jiant(file, json.dumps(JIANT), line)


DEP = """\
# sent_id = {0}-1
1 Ann _ _ NNP _ 0 root _ Discourse=x|Entity=(1-person-new-1-sgl)
2-3 's _ _ _ _ _ _ _ _
2 's _ _ POS _ 1 x _ _
3 boat _ _ NN _ 1 x _ Entity=(2-object-new(3-time-x)|X=1
4 ( _ _ -LRB- _ 1 x _ Entity=2)

# sent_id = {0}-2
1 It _ _ PRP _ 0 root _ Entity=(2-object-giv:act-1-coref)
"""
CONST = "(ROOT\n  (NP-SBJ (NP (NNP Ann) (POS 's)) (NN\n boat) (-LRB- -LRB-)))\n\n(ROOT (NP (PRP It)))\n"
ONTO = "# begin document x\n0\tAnn\t(1)\n1\t's\t_\n2\tboat\t(2(1)\n3\t(\t2)\n\n4\tIt\t(2)\n# end document\n"


SPLITS = {"train": ["GUM_a", "GUM_reddit_b"], "dev": ["GUM_c"], "test": ["GUM_d"], "test2": ["GENTLE_e"]}


def archive(path, changes=None):
    """A GUM archive with a document for each split, a blanked one and one of test2; `changes` are other texts."""
    listed = [
        f"## {split}\n\n" + "".join(f"  * {name}\n" for name in names) for split, names in SPLITS.items()
    ]
    texts = {"splits.md": "# Splits\n\n* not this\n\n" + "".join(listed)}
    for name in (name for names in SPLITS.values() for name in names):
        dep = re.sub(r"(?m)^(\d+) \S+", r"\1 __", DEP) if "reddit" in name else DEP
        texts[f"dep/{name}.conllu"] = re.sub(
            r"(?m)^(\d.*)", lambda row: "\t".join(row[0].split()), dep.format(name)
        )
        texts |= {f"const/{name}.ptb": CONST, f"coref/ontogum/conll/{name}.conll": ONTO}
    with tarfile.open(path, "w:xz") as tar:
        for name, text in (texts | (changes or {})).items():
            if text is not None:
                info = tarfile.TarInfo(f"gum-1/{name}")
                info.size = len(text.encode())
                tar.addfile(info, io.BytesIO(text.encode()))
    return {"archive": path}


def test_gum(tmp_path, brief):
    files = archive(tmp_path / "gum.tar.xz")
    expected = {
        "pos": [[("NNP", (0, 1)), ("POS", (1, 2)), ("NN", (2, 3)), ("-LRB-", (3, 4))], [("PRP", (0, 1))]],
        "constituents": [
            [("ROOT", (0, 4)), ("NP", (0, 4)), ("NP", (0, 2))],
            [("ROOT", (0, 1)), ("NP", (0, 1))],
        ],
        "entities": [[("person", (0, 1)), ("object", (2, 4)), ("time", (2, 3))], [("object", (0, 1))]],
        "coref": [[("1", (0, 1), (2, 3)), ("0", (0, 1), (2, 4)), ("0", (2, 3), (2, 4))], []],
    }
    for task, targets in expected.items():
        splits = gum.read(task, files)
        assert [sorted(brief(record)) for record in splits["train"].records] == [
            sorted(each) for each in targets
        ]
        assert {split: dict(found.source) for split, found in splits.items()} == {
            split: {"documents": 1, "sentences": 2, "tokens": 5} for split in ("train", "dev", "test")
        }
        assert splits["train"].irregular == {"documents with blanked words": 1}
        assert not splits["dev"].irregular
        assert [row["words"] for row in splits["dev"].records] == [["Ann", "'s", "boat", "("], ["It"]]
        assert splits["dev"].records[1]["info"] == {"sentence": "GUM_c-2"}


@pytest.mark.parametrize("closing", ["2)", "object-2-Ann_Lee)"])
def test_gum_of_older_releases_has_the_type_before_the_number(tmp_path, brief, closing):
    older = re.sub(r"\((\d+)-([a-z]+)", r"(\2-\1", DEP.format("GUM_c")).replace("=2)", f"={closing}")
    older = re.sub(r"(?m)^(\d.*)", lambda row: "\t".join(row[0].split()), older)
    split = gum.read("entities", archive(tmp_path / "gum.tar.xz", {"dep/GUM_c.conllu": older}))["dev"]
    assert [sorted(brief(record)) for record in split.records] == [
        [("object", (2, 4)), ("person", (0, 1)), ("time", (2, 3))],
        [("object", (0, 1))],
    ]


@pytest.mark.parametrize(
    ("task", "name", "text", "message"),
    [
        ("pos", "const/GUM_c.ptb", CONST + CONST, "GUM_c.ptb has 4 sentences"),
        ("pos", "const/GUM_c.ptb", CONST.replace("(-LRB- -LRB-)", ""), "GUM_c.ptb:1 has 3 words"),
        ("constituents", "const/GUM_c.ptb", CONST.replace("It)))", "It))"), "GUM_c.ptb:5: .*never"),
        ("coref", "coref/ontogum/conll/GUM_c.conll", ONTO.replace("4\tIt\t(2)\n", ""), "has 4 words"),
        (
            "coref",
            "coref/ontogum/conll/GUM_c.conll",
            ONTO.replace("\t2)", "\t_"),
            "mention 2 is never closed",
        ),
        ("coref", "coref/ontogum/conll/GUM_c.conll", None, "has no coref/ontogum/conll/GUM_c.conll"),
        ("entities", "dep/GUM_c.conllu", "1\tAnn\n", "GUM_c.conllu:1 has 2 columns"),
        ("entities", "splits.md", "## train\n * GUM_a\n", "no document for dev, test"),
    ],
)
def test_gum_faults(tmp_path, task, name, text, message):
    with pytest.raises(UserError, match=message):
        gum.read(task, archive(tmp_path / "gum.tar.xz", {name: text}))


def test_gum_archive_cut_short(tmp_path):
    path = archive(tmp_path / "gum.tar.xz")["archive"]
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(UserError, match="gum.tar.xz is damaged"):
        gum.read("pos", {"archive": path})


SPR2 = """\
split\tsent_id\tPred.Token\tArg.Phrase\tArg.Tokens.Begin\tArg.Tokens.End\tProperty\tResponse\tApplicable
train\ta-1\t1\tann\t0\t0\tsentient\t5\tyes
train\ta-1\t1\tann\t0\t0\tsentient\t3\tyes
train\ta-1\t1\tann\t0\t0\tvolition\t4\tyes
train\ta-1\t1\tann\t0\t0\tvolition\t3\tyes
train\ta-1\t1\tann\t0\t0\twas_used\t5\tno
train\ta-1\t1\tann\t0\t0\tsentient\tnan\tyes
train\ta-2\t0\tn&#39;t\t1\t1\tvolition\t1\tyes
train\ta-2\t0\tdo\t0\t0\tvolition\t5\tno
train\ta-2\t1\tdo it\t0\t1\tvolition\t5\tyes
train\ta-9\t1\tann\t0\t0\tsentient\t5\tyes
dev\ta-1\t1\tann\t0\t0\tsentient\t5\tyes
"""


EWT = CONLLU.replace("nt _ PART", "n't _ PART")


def read_spr2(file, rows=SPR2, treebank=EWT):
    path = file("ewt.conllu", treebank, tabs=True)
    return spr.read_spr2("spr", {"rows": file("rows.tsv", rows), "train": path, "dev": path, "test": path})


def test_spr2_takes_mean_answers(file, brief):
    splits = read_spr2(file)
    assert [brief(record) for record in splits["train"].records] == [
        [(["sentient"], (1, 2), (0, 1))],
        [([], (0, 1), (1, 2))],
    ]
    assert splits["train"].source == {"sentences": 2} and len(splits["dev"].records) == 1
    assert splits["train"].irregular == {
        "answers: not applicable": 2,
        "answers: none given": 1,
        "arguments without an applicable property": 1,
        "arguments with other words than the treebank": 1,
        "arguments in sentences that the treebank lacks": 1,
    }


def test_spr2_as_published_counts_sentences(file, brief):
    rows = SPR2.replace("sent_id", "Sentence.ID").replace("split", "Split")
    rows = rows.replace("train\ta-", "train\ten-ud-train.conllu ").replace(
        "dev\ta-", "dev\ten-ud-dev.conllu "
    )
    treebank = re.sub("(?m)^#.*\n", "", EWT)
    plain = read_spr2(file, rows, treebank)
    assert [len(split.records) for split in plain.values()] == [2, 1, 0]
    path = file("ewt.conllu", treebank, tabs=True)
    archive = path.with_name("published.tar.gz")
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(file("rows.tsv", rows), "protoroles_eng_ud1.2.tsv")
        tar.add(path, "adjunct_eng_ud1.2.tsv")
    files = {"rows": archive, "train": path, "dev": path, "test": path}
    assert spr.read_spr2("spr", files) == plain


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Applicable\n", "Apt\n", " has no column 'Applicable'"),
        ("\tsentient\t3", "\tsentient\thigh", ":3 has 'high' for Response"),
        ("\tsentient\t3\tyes", "\tsentient\t3", ":3 has not the columns"),
        ("train\ta-9", "test2\ta-9", ":11 is of the split 'test2'"),
        ("a-1\t1\tann", "a-1\t5\tann", ":2: target 1 has the span1 .*outside"),
    ],
)
def test_spr2_faults(file, old, new, message):
    with pytest.raises(UserError, match=f"rows.tsv{message}"):
        read_spr2(file, SPR2.replace(old, new))


MRG = """
( (S (NP-SBJ-1 (-LRB- -LRB-) (NNP Ann) ) (VP (VBD wanted) (S (NP-SBJ (-NONE- *-1) ) (VP (TO to) (VP (VB row)
  (PP (IN by) (NP (CD 1\\/2) )))))) (. .) ))
"""
SPR1 = """\
Split\tSentence.ID\tPred.Token\tArg.Pos\tProperty\tResponse
train\t0001_0\t2\t0:1\tsentient\t5
train\t0001_0\t2\t0:1\tvolition\t3
train\t0001_0\t5\t6:1\tstationary\t4
train\t0001_0\t2\t4:2\tvolition\t1
train\t0001_0\t2\t3:1\tvolition\t1
train\t0001_0\t2\t0:0,1:0\tvolition\t5
train\t0002_0\t2\t0:1\tvolition\t5
"""


def test_spr1_points_into_trees(file, brief):
    trees = file("wsj/00/wsj_0001.mrg", MRG).parents[1]
    split = spr.read_spr1("spr", {"rows": file("rows.tsv", SPR1), "trees": trees})["train"]
    assert split.records[0]["words"] == ["(", "Ann", "wanted", "to", "row", "by", "1/2", "."]
    assert brief(split.records[0]) == [
        (["sentient"], (2, 3), (0, 2)),
        ([], (2, 3), (3, 7)),
        (["stationary"], (4, 5), (5, 7)),
    ]
    assert split.irregular == {
        "arguments of traces alone": 1,
        "arguments in several pieces": 1,
        "arguments in sentences that the treebank lacks": 1,
    }
    with pytest.raises(UserError, match="rows.tsv:2 points outside its tree"):
        spr.read_spr1("spr", {"rows": file("rows.tsv", SPR1.replace("2\t0:1", "2\t0:9")), "trees": trees})


READERS = {
    "conllu": ("dev.conllu", EWT, lambda path: treebank.read("dependencies", {"dev": path})),
    "propbank": ("dev.tsv", PROPBANK, lambda path: propbank.read("srl", {"dev": path})),
    "iob2": ("dev.iob2", "1 Ann B-PER\n2 Lee I-PER\n", lambda path: uner.read("entities", {"dev": path})),
    "gum": (
        "dep",
        DEP.format("GUM_c"),
        lambda path: gum.read(
            "entities", archive(path.with_name("gum.tar.xz"), {"dep/GUM_c.conllu": path.read_text()})
        ),
    ),
}


@pytest.mark.parametrize("name", READERS)
def test_a_word_may_hold_spaces(file, name):
    """A word with a space in place of "Ann", as French treebanks have, moves no target, and counts as one word."""
    path, text, read = READERS[name]
    path = file(path, text, tabs=True)
    plain = read(path)["dev"]
    path.write_text(path.read_text().replace("Ann", "26 000"))
    spaced = read(path)["dev"]
    assert spaced.source == plain.source
    assert any("26 000" in record["words"] for record in spaced.records)
    for one, other in zip(spaced.records, plain.records, strict=True):
        assert one["words"] == ["26 000" if each == "Ann" else each for each in other["words"]]
        assert one["targets"] == other["targets"]
