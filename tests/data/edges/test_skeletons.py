"""PropBank's skeletons and the words of the English Web Treebank, as both are published."""

import io
import tarfile

import pytest

from bertshift.data.edges import propbank
from bertshift.errors import UserError

# Document x-a is divided as its skeleton, its second sentence otherwise tokenised. In y-b two sentences are one now.
SKELETONS = {
    "x/00/a.xml": """\
d 0 0 [WORD] NNP (TOP(S(NP*) -    -       (ARG0*)
d 0 1 [WORD] VBZ (VP*)))     sing sing.01 (V*)

d 1 0 [WORD] UH  (TOP(INTJ*  -    -
d 1 1 [WORD] .   *))         -    -

d 2 0 [WORD] VB  (TOP(S(VP*))) go go.02 (V*)
""",
    "y/00/b.xml": "d 0 0 [WORD] UH (TOP*) - -\n\nd 1 0 [WORD] NN (TOP*) - -\n\nd 2 0 [WORD] VB (TOP*) - -\n",
    "z/00/c.xml": "d 0 0 [WORD] VB (TOP*) - -\n",
}
WORDS = {
    "x-a-0001": [("Ann", "NN"), ("sings", "VBZ")],  # its tag differs, its length does not
    "x-a-0002": [("Hm.", "UH")],
    "x-a-0003": [("Go", "VB")],
    "y-b-0001": [("Oh", "UH"), ("boat", "NN")],
    "y-b-0002": [("Row", "VB")],
    "w-c-0001": [("Row", "VB")],
}


@pytest.fixture
def files(tmp_path, file):
    def make(skeletons=SKELETONS):
        with tarfile.open(tmp_path / "release.tar.gz", "w:gz") as tar:
            for name, text in skeletons.items():
                info = tarfile.TarInfo(f"propbank-release-1/data/google/ewt/{name}.gold_skel")
                info.size = len(text)
                tar.addfile(info, io.BytesIO(text.encode()))
        trees = "\n\n".join(
            "\n".join(
                [
                    f"# sent_id = {name}",
                    *(f"{i} {w} _ X {x} _ {i - 1} x _ _" for i, (w, x) in enumerate(words, 1)),
                ]
            )
            for name, words in WORDS.items()
        )
        return {"skeletons": tmp_path / "release.tar.gz", "dev": file("dev.conllu", trees + "\n", tabs=True)}

    return make


def test_words_meet_their_skeletons_sentence_by_sentence(files, brief):
    split = propbank.read("pos", files())["dev"]
    assert [(record["info"]["sentence"], " ".join(record["words"])) for record in split.records] == [
        ("x-a-0001", "Ann sings"), ("x-a-0003", "Go"), ("y-b-0002", "Row"),
    ]  # fmt: skip
    assert brief(split.records[0]) == [("NNP", (0, 1)), ("VBZ", (1, 2))]
    assert split.source == {"sentences": 3, "tokens": 4}
    assert split.irregular == {
        "sentences without a skeleton": 1,
        "sentences divided otherwise than their skeleton": 2,
    }
    frames = propbank.read("srl", files())["dev"]
    assert [brief(record) for record in frames.records] == [[("ARG0", (1, 2), (0, 1))], []]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("d 1 1 [WORD]", "d 1 2 [WORD]", "a.xml.gold_skel:5 is not word 1 of its sentence in 8 columns"),
        ("sing.01 (V*)", "sing.01", "a.xml.gold_skel:2 is not word 1 of its sentence in 9 columns"),
    ],
)
def test_damaged_skeletons(files, old, new, message):
    changed = {name: text.replace(old, new) for name, text in SKELETONS.items()}
    with pytest.raises(UserError, match=message):
        propbank.read("pos", files(changed))


def test_another_archive(files):
    with pytest.raises(UserError, match="release.tar.gz has no data/google/ewt/"):
        propbank.read("pos", files({}))
