import pytest

from bertshift.data.words import sentence_bounds, word_spans


def words(text):
    return [text[start:end] for start, end in word_spans(text)]


@pytest.mark.parametrize(
    "text, cut",
    [
        ("They didn't, can’t and won't.", "They did n't , ca n’t and wo n't ."),
        ("It's a cannot-do, isn't it?", "It 's a can not - do , is n't it ?"),
        ("He did n't say 'no'...", "He did n't say ' no ' ..."),
        ("Dr. George W. Bush of the U.S. paid $1,200.50!!",
         "Dr. George W. Bush of the U.S. paid $ 1,200.50 !!"),
        ("I said no. Vitamin C.", "I said no . Vitamin C ."),
        ("naïve Ünal\u00a0didn't  care", "naïve Ünal did n't care"),
    ],
)  # fmt: skip
def test_words_as_treebanks_cut_them(text, cut):
    assert words(text) == cut.split()


def test_every_character_but_spaces_is_in_one_word():
    text = (
        "\"Don't—stop\", they'd said: 3.5% (n't) "
        "... N.A.T.O. x_y e\u0301 中文 €5/£4 ''quoted''\tit's\n"
    )
    inside = [position for span in word_spans(text) for position in range(*span)]
    assert inside == [position for position, letter in enumerate(text) if not letter.isspace()]


def test_sentences_end_where_no_lower_case_follows():
    text = words("Who won? Mr. Bush did ... or so they say. 55 lost!! Yahoo! is one")
    sentences = [" ".join(text[slice(*bounds)]) for bounds in sentence_bounds(text)]
    expected = "Who won ?|Mr. Bush did ... or so they say .|55 lost !!|Yahoo ! is one"
    assert sentences == expected.split("|")
    assert sentence_bounds([]) == [] and sentence_bounds(["."]) == [(0, 1)]
