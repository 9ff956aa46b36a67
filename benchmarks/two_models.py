"""`bertshift.compare` beside the straight way, in one run at BERT-base's shape: CPU seconds and peak memory of a process each.

    PYTHONPATH=workflow OMP_NUM_THREADS=1 python benchmarks/two_models.py [--sentences 300] [--layers 12] [--width 768]

Both begin with two checkpoints on disk (random weights, one a copy of the other that was moved a little) and the same made-up
sentences. The straight way is a notebook's: transformers with output_hidden_states and output_attentions, batches padded to
their longest sentence, both models' states and maps in memory, then each measure's public implementation: cosine_similarity
of scikit-learn and pearsonr of scipy for RSA, google/svcca's steps for SVCCA, the feature-space form of Kornblith et al.'s
notebook for CKA, jensenshannon of scipy, cosine_similarity of torch. It has no interval and no null. For intervals over texts,
as `compare` gives, it would repeat its measures without each of 20 blocks of sentences: "the same table" is what that takes,
its measures 21 times. The straight way's RSA takes the first 5000 tokens, ours draws them; the other values are the same.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from itertools import chain
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

VOCABULARY, TOKENS, SEED = 30_522, 5000, 0


def make(folder, sentences, layers, width):
    import torch
    from transformers import BertConfig, BertModel, BertTokenizer

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = [f"word{number}" for number in range(VOCABULARY - len(special))]
    tokenizer = BertTokenizer(
        vocab={word: i for i, word in enumerate([*special, *words])}, do_lower_case=True
    )
    torch.manual_seed(SEED)
    shape = {"num_hidden_layers": layers, "hidden_size": width, "num_attention_heads": width // 64}
    model = BertModel(BertConfig(intermediate_size=4 * width, **shape))
    for name in ("base", "tuned"):
        model.save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
        with torch.no_grad():
            for weight in model.parameters():
                weight += 0.1 * 0.02 * torch.randn_like(weight)
    generator = np.random.default_rng(SEED)
    # As words are: a few of them are in every sentence.
    share = 1 / np.arange(10, len(words) + 10)
    texts = [
        " ".join(generator.choice(words, generator.integers(8, 40), p=share / share.sum()))
        for _ in range(sentences)
    ]
    (folder / "texts.json").write_text(json.dumps(texts))


def ours(folder, texts):
    import bertshift

    start = process_time()
    change = bertshift.compare(folder / "tuned", folder / "base", texts)
    table = (
        change.table[change.table["head"] == 0]
        .set_index(["measure", "variant", "layer"])["value"]
        .sort_index()
    )
    names = {"rsa": "all_tokens", "svcca": "svcca99", "js": "nats", "cosine": "crop"}
    return {"all": process_time() - start}, {
        name: table[name, variant].tolist() for name, variant in names.items()
    }


def straight(folder, texts):
    start = process_time()
    (states, maps), (other_states, other_maps) = (encoded(folder / name, texts) for name in ("tuned", "base"))
    seconds, found = {"models": process_time() - start}, {}
    for name, measure, x, y in (
        ("rsa", rsa, states, other_states), ("svcca", svcca, states, other_states), ("cka", cka, states, other_states),
        ("js", js, maps, other_maps), ("cosine", cosine, maps, other_maps),
    ):  # fmt: skip
        start = process_time()
        found[name] = [float(measure(a, b)) for a, b in zip(x, y)]
        seconds[name] = process_time() - start
    return seconds, found


def encoded(folder, texts):
    """[layers + 1] of [tokens, width]; [layers] of a list of [heads, length, length]."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    states, maps = [], []
    for first in range(0, len(texts), 16):
        inputs = tokenizer(texts[first : first + 16], padding=True, return_tensors="pt")
        with torch.no_grad():
            out = model(**inputs, output_hidden_states=True, output_attentions=True)
        real = inputs["attention_mask"].bool()
        states.append([layer[real].numpy() for layer in out.hidden_states])
        lengths = real.sum(1).tolist()
        maps.append(
            [[one[:, :n, :n].numpy().copy() for one, n in zip(layer, lengths)] for layer in out.attentions]
        )
    return [np.concatenate(layer) for layer in zip(*states)], [[*chain(*layer)] for layer in zip(*maps)]


def rsa(x, y):
    from scipy.stats import pearsonr
    from sklearn.metrics.pairwise import cosine_similarity

    upper = np.triu_indices(min(len(x), TOKENS), 1)
    return pearsonr(*(cosine_similarity(one[:TOKENS].astype(np.float64))[upper] for one in (x, y)))[0]


def svcca(x, y):
    from svcca import two_decompositions

    return two_decompositions(x.T, y.T)


def cka(x, y):
    """`feature_space_linear_cka` of Kornblith et al.'s notebook, debiased."""
    x, y = (one.astype(np.float64) - one.mean(0, dtype=np.float64) for one in (x, y))
    n = len(x)
    rows_x, rows_y = np.einsum("ij,ij->i", x, x), np.einsum("ij,ij->i", y, y)

    def debiased(similarity, a, b):
        return similarity - n / (n - 2.0) * a.dot(b) + a.sum() * b.sum() / ((n - 1) * (n - 2))

    cross, own_x, own_y = (np.linalg.norm(a.T.dot(b)) ** 2 for a, b in ((x, y), (x, x), (y, y)))
    own = debiased(own_x, rows_x, rows_x) * debiased(own_y, rows_y, rows_y)
    return debiased(cross, rows_x, rows_y) / np.sqrt(own)


def js(maps, others):
    from scipy.spatial.distance import jensenshannon

    return np.mean([np.mean(jensenshannon(a, b, axis=-1) ** 2) for a, b in zip(maps, others)])


def cosine(maps, others):
    import torch

    flat = [[torch.from_numpy(one).flatten(1) for one in side] for side in (maps, others)]
    return np.mean([torch.cosine_similarity(a, b).mean().item() for a, b in zip(*flat)])


ROUTES = {"bertshift.compare": ours, "the straight way": straight}


def measured(route, folder):
    """What a process of its own says of one route, beside its peak memory."""
    command = [sys.executable, __file__, "--route", route, "--folder", str(folder)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser()
    for name, number in (("sentences", 300), ("layers", 12), ("width", 768)):
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--route", choices=ROUTES)
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    if asked.route:
        texts, begun = json.loads((asked.folder / "texts.json").read_text()), perf_counter()
        seconds, values = ROUTES[asked.route](asked.folder, texts)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(
            json.dumps({"seconds": seconds, "wall": perf_counter() - begun, "peak": peak, "values": values})
        )
        return
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), asked.sentences, asked.layers, asked.width)
        found = {route: measured(route, folder) for route in ROUTES}
    mine, theirs = (found[route] for route in ROUTES)
    own, whole = sum(mine["seconds"].values()), sum(theirs["seconds"].values())
    again = theirs["seconds"]["models"] + 21 * (whole - theirs["seconds"]["models"])
    print(f"{asked.sentences} sentences, {asked.layers} layers of width {asked.width}")
    print(f"{'route':44}{'CPU s':>10}{'ratio':>8}{'peak GB':>10}")
    print(f"{'bertshift.compare, intervals and nulls':44}{own:10.1f}{1:8.1f}{mine['peak']:10.2f}")
    print(f"{'the straight way, values alone':44}{whole:10.1f}{whole / own:8.1f}{theirs['peak']:10.2f}")
    print(f"{'the straight way, the same table':44}{again:10.1f}{again / own:8.1f}")
    print("of the straight way:", ", ".join(f"{name} {took:.1f}" for name, took in theirs["seconds"].items()))
    for name, values in mine["values"].items():
        print(
            f"{name}: largest difference {max(abs(a - b) for a, b in zip(values, theirs['values'][name])):.1e}"
        )


if __name__ == "__main__":
    main()
