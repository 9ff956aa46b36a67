"""OntoNotes 5 on three invented sentences with what the real files have: brackets, chains, nesting, XX, frames."""

import pytest

from bertshift.data.edges import ontonotes
from bertshift.errors import UserError

CONLL = """\
#begin document (nw/x/00/x_0001); part 000
nw/x/00/x_0001 0 0 (    (   (TOP(S(NP-SBJ-1(PRN* -    -  - - *        *       *        -
nw/x/00/x_0001 0 1 Ann  NNP (NP(NX*))            -    -  - - (PERSON) (ARG0*) *        (7)
nw/x/00/x_0001 0 2 )    )   *))                  -    -  - - *        *       *        -
nw/x/00/x_0001 0 3 said VBD (VP*                 say  01 1 - *        (V*)    *        -
nw/x/00/x_0001 0 4 she  PRP (SBAR=2(S(NP*)       -    -  - - *        (ARG1*  (ARG0*)  (7)
nw/x/00/x_0001 0 5 left VBD (VP*))))             leave 01 1 - *       *)      (V*)     -
nw/x/00/x_0001 0 6 .    .   *))                  -    -  - - *        *       *        -

nw/x/00/x_0001 0 0 Bank NNP (TOP(S(NP(NP*)       -    -  - - (ORG*    (ARG1*  (ARG1*   (3
nw/x/00/x_0001 0 1 of   IN  (PP*                 -    -  - - *        *       *        -
nw/x/00/x_0001 0 2 New  NNP (NP*                 -    -  - - (GPE*    *       *        (3|(4
nw/x/00/x_0001 0 3 York NNP *)))                 -    -  - - *))      *)      *)       3)|4)|3)
nw/x/00/x_0001 0 4 fell VBD (VP*)))              fall 01 1 - *        (V*)    *        -

nw/x/00/x_0001 0 0 XX   XX  (TOP*                -    -  - - *        *       -
nw/x/00/x_0001 0 1 go   VB  *)                   go   01 1 - *        (V*)    -
#end document
"""


@pytest.fixture
def read(file, brief):
    def targets(task, text=CONLL):
        path = file("train/nw/x_0001.gold_conll", text)
        file("train/nw/x_0001.gold_skel", "not read")
        split = ontonotes.read(task, {"train": path.parents[1]})["train"]
        return [brief(record) for record in split.records], split

    return targets


CONSTITUENTS = [
    ("TOP", (0, 7)), ("S", (0, 7)), ("NP", (0, 3)), ("PRN", (0, 3)), ("NP", (1, 2)), ("NX", (1, 2)),
    ("VP", (3, 6)), ("SBAR", (4, 6)), ("S", (4, 6)), ("NP", (4, 5)), ("VP", (5, 6)),
]  # fmt: skip
FRAMES = [
    [("ARG0", (3, 4), (1, 2)), ("ARG1", (3, 4), (4, 6))],
    [("ARG0", (5, 6), (4, 5))],
    [("ARG1", (4, 5), (0, 4))],
    [],
]
MENTIONS = [
    [("1", (1, 2), (4, 5))],
    [("1", (0, 4), (2, 4)), ("0", (0, 4), (2, 4)), ("0", (2, 4), (2, 4))],
    [],
]


def test_each_layer_is_read(read):
    (first, second, third), split = read("pos")
    assert " ".join(label for label, _ in first) == "-LRB- NNP -RRB- VBD PRP VBD ."
    assert first[2] == ("-RRB-", (2, 3)) and len(second) == 5 and third == []
    assert " ".join(split.records[0]["words"]) == "( Ann ) said she left ."
    assert split.source == {"sentences": 3, "tokens": 14}
    assert split.irregular == {"sentences without a tree (XX)": 1}
    found = read("constituents")[0]  # chains are kept, functions are not
    assert found[0] == CONSTITUENTS and found[2] == []
    assert read("entities")[0] == [[("PERSON", (1, 2))], [("ORG", (0, 4)), ("GPE", (2, 4))], []]
    assert read("coref")[0] == MENTIONS
    frames, split = read("srl")
    assert (
        frames == FRAMES and split.source["frames"] == 4 and split.irregular == {"frames without a verb": 1}
    )


@pytest.mark.parametrize(
    ("task", "old", "new", "message"),
    [
        ("constituents", "*))                  -    -  - - *        *       *        -\n\n", "*) - - - - * * * -\n\n",
         r"x_0001.gold_conll:2: the bracket \(TOP is never closed"),
        ("constituents", "(VP*)))              fall", "(VP*)))) fall", ":10: word 5 closes a bracket that no word"),
        ("constituents", "(TOP(S(NP(NP*)       -", "(NP*) -", ":10: word 4 closes a bracket"),
        ("constituents", "(TOP*                -", "(TOP*) -", None),
        ("coref", "3)|4)|3)", "3)|4)", ":10: the mention 3 is never closed"),
        ("coref", "(3|(4", "(4", ":10: word 4 closes the mention 3, which no word opened"),
        ("entities", "*))      *)", "*) *)", r":10: the bracket \(ORG is never closed"),
        ("pos", "0 2 New", "0 3 New", ":12 is not word 2 of its sentence in 14 columns"),
        ("pos", "*)      *)       3)|4)|3)", "*)", ":13 is not word 3 of its sentence"),
    ],
)  # fmt: skip
def test_faults_are_named_with_file_and_line(read, task, old, new, message):
    assert old in CONLL
    if message is None:  # the tree of a sentence with XX is not looked at
        assert read(task, CONLL.replace(old, new))
        return
    with pytest.raises(UserError, match=message):
        read(task, CONLL.replace(old, new))


def test_skeletons_without_words(file):
    folder = file("train/nw/x.gold_skel", "x").parent
    with pytest.raises(UserError, match=r"no \*gold_conll file; merge the words of LDC2013T19"):
        ontonotes.read("pos", {"train": folder})
