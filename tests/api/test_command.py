"""`bertshift compare` on a command line."""

import pytest
from made_encoders import TEXTS, model_of, tokenizer_of

from bertshift.api.command import main, table_in, texts_in
from bertshift.errors import UserError
from bertshift.files import read_tsv
from bertshift.models.loading import save_model


@pytest.fixture
def asked(tmp_path):
    for seed, name in enumerate(("one", "other")):
        model = model_of("bert", seed, vocab_size=len(tokenizer_of("bert")))
        save_model(tmp_path / name, model, tokenizer_of("bert"))
    (tmp_path / "texts.txt").write_text(
        "\n".join(TEXTS) + f"\n{TEXTS[0]}\t{TEXTS[1]}\n", encoding="utf-8"
    )
    return [
        "compare",
        str(tmp_path / "one"),
        str(tmp_path / "other"),
        "--texts",
        str(tmp_path / "texts.txt"),
    ]


def test_it_prints_the_profile_and_writes_what_it_lists(asked, tmp_path, capsys):
    assert main([*asked, "--out", str(tmp_path / "out")]) == 0
    printed, told = capsys.readouterr()
    assert "one and other: each measure by layer" in printed and "step/s" in told
    table = read_tsv(tmp_path / "out/change.tsv")
    layers = table[
        (table["measure"] == "js") & (table["variant"] == "nats") & (table["head"] == 0)
    ]
    assert all(f"{value:.6g} " in printed for value in layers["value"])
    files = [line for line in printed.splitlines() if line.startswith(str(tmp_path))]
    assert files == [
        str(tmp_path / "out" / name) for name in ("change.tsv", "change.png", "index.html")
    ]
    assert (tmp_path / "out/change.png").read_bytes().startswith(b"\x89PNG")


def test_seeds_and_measures_are_chosen(asked, capsys):
    assert main([asked[0], asked[1], asked[1], *asked[2:], "--measures", "js,cosine"]) == 0
    printed = capsys.readouterr()[0].splitlines()
    assert printed[0].startswith("one and 1 more and other") and printed[1].split() == [
        "layer",
        "js",
        "cosine",
    ]


@pytest.mark.parametrize("name, content", [
    ("t.tsv", b'id\tsentence\tlabel\r\n1\tNA "x, y"\t0\r\n2\tnull\t1\r\n'),
    ("t.csv", b'\xef\xbb\xbfid,sentence,label\n1,"NA ""x, y""\",0\n2,null,1\n'),
])  # fmt: skip
def test_columns_of_a_file(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    table = table_in(tmp_path / name)
    assert table["sentence"].tolist() == ['NA "x, y"', "null"] and [*table] == [
        "id",
        "sentence",
        "label",
    ]


def test_a_row_with_more_cells_than_columns_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\none, and more,two\nthree,four\n")
    with pytest.raises(UserError, match="is no table"):
        table_in(tmp_path / "t.csv")


def test_pairs_in_a_language_without_spaces(tmp_path):
    (tmp_path / "texts.txt").write_text(
        "我喜欢这部电影\t这部电影很好\n他今天没有来\t他今天来了\n", "utf-8"
    )
    assert texts_in(tmp_path / "texts.txt")[1] == ("他今天没有来", "他今天来了")


def test_a_column_that_the_file_lacks(asked, tmp_path, capsys):
    (tmp_path / "texts.txt").write_text("text\tlabel\na b\t0\n")
    assert main([*asked, "--columns", "sentence"]) == 1
    assert "has no column 'sentence', only text, label" in capsys.readouterr()[1]


def test_a_mistake_is_a_sentence_and_a_code(asked, capsys):
    assert main([*asked[:1], "/none", *asked[2:]]) == 1
    printed, told = capsys.readouterr()
    assert not printed and told.splitlines()[-1] == (
        "bertshift: /none is no folder, and no name of a model on the hub; correct it."
    )


@pytest.mark.parametrize(
    "content, said",
    [(None, "does not exist"), (b"a\n\nb\n", "texts.txt:2 is empty"), (b"a\tb\tc\n", "texts.txt:1 has 3 parts"),
     (b"a\n\xff\n", "texts.txt:2 is not UTF-8"), (b"", "texts.txt is empty"),
     (b"one\rtwo\r", "texts.txt:1 has a carriage return"), (b"good\ta b\nbad\tc d\n", "looks like labels, such as 'good'"),
     (b"".join(b"a %d\tnot good\n" % k for k in range(20)), "looks like labels, such as 'not good'")],
)  # fmt: skip
def test_files_without_texts(tmp_path, content, said):
    if content is not None:
        (tmp_path / "texts.txt").write_bytes(content)
    with pytest.raises(UserError, match=said):
        texts_in(tmp_path / "texts.txt")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_pairs_stand_on_one_line(tmp_path, end):
    content = f"\ufeffone{end}two two\tthree\u2028four{end}"
    (tmp_path / "texts.txt").write_text(content, encoding="utf-8", newline="")
    assert texts_in(tmp_path / "texts.txt") == ["one", ("two two", "three\u2028four")]
