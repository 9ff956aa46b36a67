from collections.abc import Sequence
from itertools import chain

from transformers import BertTokenizer


def word_pieces(tokenizer: BertTokenizer, sentences: Sequence[Sequence[str]]) -> list[list[list[int]]]:
    """For each sentence and word of it the ids of its word pieces, never none: a word cut on its own is cut as in a text.

    A word of which the tokenizer leaves nothing (control and zero-width characters) is one [UNK]; a literal "[MASK]" is
    cut like any other word. Occurrences of a word share one list, so change none of them.
    """
    words = list(dict.fromkeys(chain.from_iterable(sentences)))
    if not words:
        return [[] for _ in sentences]
    cut = tokenizer(
        words,
        add_special_tokens=False,
        split_special_tokens=True,
        return_attention_mask=False,
        return_token_type_ids=False,
        verbose=False,
    )
    pieces = {
        word: ids or [tokenizer.unk_token_id] for word, ids in zip(words, cut["input_ids"], strict=True)
    }
    return [[pieces[word] for word in sentence] for sentence in sentences]
