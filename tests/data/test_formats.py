"""Every format's reader on small files: what is read, and what a damaged file says."""

import csv
import json

import pandas as pd
import pytest

from bertshift.data import conllu, glue_tsv, plain_text, squad_json
from bertshift.errors import UserError

PAIR = {
    "columns": {"text_a": "question1", "text_b": "question2", "label": "is_duplicate"},
    "labels": {"0": "not_duplicate", "1": "duplicate"},
}
HEADER = "id\tquestion1\tquestion2\tis_duplicate\n"


@pytest.fixture
def file(tmp_path):
    def write(content: str | bytes, name="train.tsv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_glue_quotes_and_odd_line_ends_are_characters(file):
    texts = ['"Who', 'said "no"?', "one\u2028two", "cr\rcr", "", "\x85 "]
    body = "".join(f"{i}\t{text}\tb{i}\t1\r\n" for i, text in enumerate(texts))
    rows, counts = glue_tsv.read(file("\ufeff" + HEADER + body), PAIR)
    rows = list(rows)
    assert [row["text_a"] for row in rows] == texts
    assert rows[1] == {"text_a": 'said "no"?', "text_b": "b1", "label": "duplicate"}
    assert not counts


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_glue_reads_tables_that_pandas_wrote(file, quoting):
    texts = ['He said "no".', '"Who?"', "plain, 's", "two\ttabs", "two\nlines", "", 'a ""b"" c']
    table = pd.DataFrame({"question1": texts, "question2": texts[::-1], "is_duplicate": "1"})
    path = file(table.to_csv(sep="\t", index=False, quoting=quoting))
    rows, counts = glue_tsv.read(path, PAIR)
    rows = list(rows)
    assert [row["text_a"] for row in rows] == texts and [row["text_b"] for row in rows] == texts[::-1]
    quoted = 10 if quoting == csv.QUOTE_MINIMAL else 3 * (1 + len(texts))
    assert counts == {"cells in quotation marks, as csv writes them": quoted}


def test_quotes_are_characters_where_the_catalogue_says_so(file):
    rows, counts = glue_tsv.read(file(HEADER + '0\t"A ""b"""\tb\t1\n'), PAIR | {"literal_quotes": True})
    assert next(rows)["text_a"] == '"A ""b"""' and not counts


def test_a_row_that_goes_on_in_the_next_line_is_named_by_its_last(file):
    path = file('question1\tquestion2\tis_duplicate\n"a\nb ""c"""\tb\t1\n"d\ne"\tb\tx\n')
    with pytest.raises(UserError, match="train.tsv:5 has the unknown label 'x'"):
        list(glue_tsv.read(path, PAIR)[0])


@pytest.mark.parametrize(
    "last", ['He said "no".', '"Who?" he said.', 'an open "one', '"The" and "other"', '"']
)
def test_one_cell_that_csv_would_not_write_leaves_all_quotes_as_they_are(file, last):
    texts = ['"Whole."', '"He said ""no""."', last]
    path = file(HEADER + "".join(f"0\t{text}\tb\t1\n" for text in texts))
    rows, counts = glue_tsv.read(path, PAIR)
    assert [row["text_a"] for row in rows] == texts and not counts


def test_glue_without_header_line(file):
    spec = {
        "header": ["source", "label", "star", "sentence"],
        "columns": {"text_a": "sentence", "label": "label"},
        "labels": {"0": "unacceptable", "1": "acceptable"},
    }
    rows, _ = glue_tsv.read(file("gj04\t1\t\tThey left.\ngj04\t0\t*\tThey lefts."), spec)
    assert list(rows) == [
        {"text_a": "They left.", "label": "acceptable"},
        {"text_a": "They lefts.", "label": "unacceptable"},
    ]


def test_glue_drops_and_counts_what_it_may(file):
    path = file(HEADER + "0\ta\tb\t1\n1\tbroken\n over two lines\tb\t0\n2\ta\tb\t-\n")
    rows, counts = glue_tsv.read(path, {**PAIR, "unlabelled": ["-"], "tolerate_malformed": 2})
    assert len(list(rows)) == 1
    assert counts == {"malformed lines": 2, "without a label": 1}
    with pytest.raises(UserError, match="train.tsv:3 has 2 columns"):
        list(glue_tsv.read(path, {**PAIR, "unlabelled": ["-"], "tolerate_malformed": 1})[0])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (HEADER + "0\ta\tb\t2\n", ":2 has the unknown label '2'"),
        ("id\tquestion1\tis_duplicate\n0\ta\t1\n", "no column 'question2'"),
        ("id\tquestion1\tquestion2\tquestion2\tis_duplicate\n", "2 columns 'question2'"),
        ("question1,question2,is_duplicate\na,b,1\n", "commas"),
        ('"question1";"question2";"is_duplicate"\n"a";"b";1\n', "semicolons"),
        ("", "empty"),
        ("\n<!DOCTYPE html>\n<html></html>", "web page"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS"),
        (HEADER.encode() + b"0\tcaf\xe9\tb\t1\n", ":2 is not UTF-8"),
    ],
)
def test_glue_names_the_fault(file, content, message):
    with pytest.raises(UserError, match=f"train.tsv.*{message}"):
        list(glue_tsv.read(file(content), PAIR)[0])


@pytest.mark.parametrize("score", ["5.1", "nan", "high", "", "0_3", "١"])
def test_scores_are_bounded_numbers(file, score):
    spec = {"columns": {"text_a": "a", "label": "score"}, "range": [0, 5]}
    rows = glue_tsv.read(file(f"a\tscore\nx\t3.800\ny\t{score}\n"), spec)[0]
    assert next(rows)["label"] == 3.8
    with pytest.raises(UserError, match=f"train.tsv:3 has the score '{score}'"):
        next(rows)


def squad(*questions, context="the cat saw the cat") -> str:
    qas = [{"id": f"q{i}", "question": "Who?", **question} for i, question in enumerate(questions)]
    return json.dumps({"version": "1.1", "data": [{"paragraphs": [{"context": context, "qas": qas}]}]})


def test_squad_answers_stand_where_they_say(file):
    def answers(*pairs):
        return {"answers": [{"text": text, "answer_start": start} for text, start in pairs]}

    path = file(
        squad(
            answers(("cat", 16), ("the cat", 0)),
            answers(("cat", 15), ("saw", -1)),
            answers(("dog", 4), ("cat", 4)),
            answers(("dog", 4), ("", 0)),
            answers() | {"is_impossible": True, "plausible_answers": [{"text": "cat", "answer_start": 4}]},
        )
    )
    rows, counts = squad_json.read(path, {})
    assert [[(a["text"], a["start"]) for a in row["answers"]] for row in rows] == [
        [("cat", 16), ("the cat", 0)],
        [("cat", 16), ("saw", 8)],
        [("cat", 4)],
        [],
    ]
    assert [row["impossible"] for row in rows] == [False, False, False, True]
    assert +counts == {
        "answers moved to where their text is": 2,
        "answers not in their context": 3,
        "questions dropped for want of an answer": 1,
    }


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (squad({"answers": []})[:-20], "train.tsv:1 is not valid JSON"),
        ("[]", "no top-level key 'data'"),
        (squad({}), "KeyError: 'answers'"),
    ],
)
def test_squad_names_the_fault(file, text, fault):
    with pytest.raises(UserError, match=fault):
        squad_json.read(file(text), {})


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"is_impossible": "false"}, 'is_impossible is "false"'),
        ({"question": None}, "question is null"),
        ({"question": "half \ud83d"}, "question is "),
        ({"id": ["q1"]}, "id is "),
        ({"answers": [{"text": "cat", "answer_start": "4"}]}, 'answer_start is "4"'),
        ({"answers": [{"text": None, "answer_start": 4}]}, "text is null"),
    ],
)
def test_squad_names_the_value_that_is_of_another_type(file, changes, fault):
    answered = {"answers": [{"text": "cat", "answer_start": 4}]}
    with pytest.raises(UserError, match=f"train.tsv, question 2: .*{fault}"):
        squad_json.read(file(squad(answered, answered | changes)), {})


def word(number, form, head, relation="dep"):
    return "\t".join([str(number), form, form.lower(), "NOUN", "NN", "_", str(head), relation, "_", "_"])


def test_conllu_keeps_the_words_of_the_basic_tree(file):
    skipped = [f"{number}\t{form}" + "\t_" * 8 for number, form in (("1-2", "Don't"), ("2.1", "it"))]
    lines = [
        "# sent_id = a-1",
        "# text = Don't = do",
        *[skipped[0], word(1, "Do", 0, "root"), word(2, "n't", 1, "advmod"), skipped[1]],
        *["", "", word(1, "Bare", 2), word(2, "words", 0)],
    ]
    rows, _ = conllu.read(file("\n".join(lines)), {})
    assert rows[0] == {
        "text": "Don't = do", "words": ["Do", "n't"], "upos": ["NOUN", "NOUN"], "xpos": ["NN", "NN"],
        "heads": [0, 1], "deprels": ["root", "advmod"], "id": "a-1",
    }  # fmt: skip
    assert rows[1]["text"] == "Bare words"


@pytest.mark.parametrize("heads", [[0, 1, 2], [2, 3, 0]])
def test_conllu_reads_trees(file, heads):
    content = "".join(word(i, "w", head) + "\n" for i, head in enumerate(heads, 1))
    assert conllu.read(file(content), {})[0][0]["heads"] == heads


@pytest.mark.parametrize(
    ("heads", "fault"),
    [([0, 0], "2 roots"), ([2, 1], "0 roots"), ([0, 3, 2], "cycle"), ([0, 2], "cycle"), ([0, 4], "head 4")],
)
def test_conllu_refuses_what_is_no_tree(file, heads, fault):
    content = "".join(word(i, "w", head) + "\n" for i, head in enumerate(heads, 1))
    with pytest.raises(UserError, match=f"train.tsv:1: the sentence has .*{fault}"):
        conllu.read(file(content), {})


@pytest.mark.parametrize(
    "line", [word(3, "skips", 1), word(2, "headless", "_"), "2\tshort\t_", word("x", "x", 1)]
)
def test_conllu_names_the_line(file, line):
    with pytest.raises(UserError, match="train.tsv:2 has"):
        conllu.read(file(word(1, "w", 0) + "\n" + line + "\n"), {})


@pytest.mark.parametrize(
    "text",
    [
        "Mr. J. R. Smith paid $3.50 to St. Mary on Jan. 5. | He left.",
        "He moved to the U.S. Army base. | It was in the U.S. | The base closed.",
        'She said "Stop!" | Then she left. | "Why?" | (Nobody knew.)',
        "It grew (cf. No. 7, e.g. Fig. 2). | In 1999 it fell. | 1999 was dry.",
        "Was it? | Yes! | Maybe... | Élan counts too.",
    ],
)
def test_sentences_end_where_a_reader_says(text):
    sentences = text.split(" | ")
    assert plain_text.split_sentences(" ".join(sentences)) == sentences


def test_text_keeps_order_and_counts_what_it_drops(file):
    rows, counts = plain_text.read(
        file("One two three. No. Four five six.\nA Heading\n\nSeven eight nine.\n"), {"min_words": 3}
    )
    assert list(rows) == [
        {"text": "One two three.", "document": 0, "sentence": 0},
        {"text": "Four five six.", "document": 0, "sentence": 2},
        {"text": "Seven eight nine.", "document": 3, "sentence": 0},
    ]
    assert counts == {"shorter than 3 words": 1, "without a final mark": 1}
