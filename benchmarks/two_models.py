"""`bertshift.compare` beside the straight way, in one run at BERT-base's shape: CPU seconds and
peak memory of a process each.

    PYTHONPATH=workflow OMP_NUM_THREADS=1 python benchmarks/two_models.py [--sentences 300] [--layers 12] [--width 768]
        [--blocks 2] [--svcca FOLDER]

All begin with two checkpoints on disk (random weights, one a copy of the other that was moved a
little) and the same made-up sentences. The straight way is a notebook's: transformers with
output_hidden_states and output_attentions, batches padded to their longest sentence, both models'
states and maps in memory, then each measure's public implementation: cosine_similarity of
scikit-learn and pearsonr of scipy for RSA; decompositions and get_cca_similarity for SVCCA, of a
clone of google/svcca in FOLDER, or its steps written out where there is none; the feature-space
form of Kornblith et al.'s notebook for CKA; jensenshannon of scipy; cosine_similarity of torch. It
has no null.

Values alone: the straight way's are set against the library's functions of two arrays. The
straight RSA takes the first 5000 tokens, and so do these; `compare` draws them. With intervals:
`compare` has each value without each of 20 blocks of sentences. The straight way takes RSA, SVCCA
and CKA again without each of `--blocks` blocks, measured; attention's values are means over
sentences, which are only averaged again. What 20 blocks take is calculated from these.
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

VOCABULARY, TOKENS, SEED, BLOCKS = 30_522, 5000, 0, 20


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


def with_intervals(folder, texts, asked):
    from bertshift import compare

    start = process_time()
    change = compare(folder / "tuned", folder / "base", texts)
    table = (
        change.table[change.table["head"] == 0]
        .set_index(["measure", "variant", "layer"])["value"]
        .sort_index()
    )
    names = {"svcca": "svcca99", "js": "nats", "cosine": "crop"}
    return {"all": process_time() - start}, {
        name: table[name, of].tolist() for name, of in names.items()
    }


def values_alone(folder, texts, asked):
    import bertshift
    from bertshift.activations.extract import extract
    from bertshift.activations.store import Activations
    from bertshift.api.models import prepare
    from bertshift.api.texts import rows_of
    from bertshift.models.loading import load_encoder
    from bertshift.models.tokenizer import load_tokenizer

    measures = {name: getattr(bertshift, name) for name in ("rsa", "svcca", "cka", "js", "cosine")}
    start = process_time()
    for name in ("tuned", "base"):
        run = folder / "runs" / name
        prepare(folder / name, run)
        extract(
            load_encoder(run),
            load_tokenizer(run),
            rows_of(texts),
            folder / f"{name}.npz",
            512,
            attention=True,
        )
    x, y = (Activations(folder / f"{name}.npz") for name in ("tuned", "base"))
    seconds, found = {"models": process_time() - start}, {}
    for name, measure in measures.items():
        start = process_time()
        if name in ("js", "cosine"):
            layers = [(x.attention(layer), y.attention(layer)) for layer in range(1, x.layers + 1)]
            found[name] = [
                float(np.mean([measure(a, b) for a, b in zip(*maps)])) for maps in layers
            ]
        else:
            tokens = TOKENS if name == "rsa" else None
            layers = [
                (x.hidden(layer)[:tokens], y.hidden(layer)[:tokens])
                for layer in range(x.layers + 1)
            ]
            found[name] = [measure(*states) for states in layers]
        seconds[name] = process_time() - start
    return seconds, found


def straight(folder, texts, asked):
    import scipy.stats  # noqa: F401 importing takes seconds
    import sklearn.metrics.pairwise  # noqa: F401
    import transformers.models.bert.modeling_bert  # noqa: F401

    if asked.svcca:
        sys.path.insert(0, str(asked.svcca))
    start = process_time()
    (states, maps), (other_states, other_maps) = (
        encoded(folder / name, texts) for name in ("tuned", "base")
    )
    seconds, found = {"models": process_time() - start}, {}
    for name, measure in (
        ("rsa", rsa),
        ("svcca", google_svcca if asked.svcca else svcca),
        ("cka", cka),
    ):
        start = process_time()
        found[name] = [float(measure(x, y)) for x, y in zip(states, other_states)]
        seconds[name] = process_time() - start
        if asked.without:
            start, tokens = (
                process_time(),
                np.repeat(np.arange(len(texts)), [one.shape[-1] for one in maps[0]]),
            )
            for rest in [tokens * BLOCKS // len(texts) != block for block in range(asked.without)]:
                for x, y in zip(states, other_states):
                    measure(x[rest], y[rest])
            seconds[f"{name} without blocks"] = process_time() - start
    for name, measure in (("js", js), ("cosine", cosine)):
        start = process_time()
        found[name] = [float(measure(a, b)) for a, b in zip(maps, other_maps)]
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
            [
                [one[:, :n, :n].numpy().copy() for one, n in zip(layer, lengths)]
                for layer in out.attentions
            ]
        )
    return [np.concatenate(layer) for layer in zip(*states)], [
        [*chain(*layer)] for layer in zip(*maps)
    ]


def rsa(x, y):
    from scipy.stats import pearsonr
    from sklearn.metrics.pairwise import cosine_similarity

    upper = np.triu_indices(min(len(x), TOKENS), 1)
    return pearsonr(
        *(cosine_similarity(one[:TOKENS].astype(np.float64))[upper] for one in (x, y))
    )[0]


def svcca(x, y):
    from svcca import two_decompositions

    return two_decompositions(x.T, y.T)


def google_svcca(x, y):
    """Compute the SVCCA distance as in the first tutorial of google/svcca, cut at 99 % of the
    variance."""
    from cca_core import get_cca_similarity

    kept = []
    for z in (x.T, y.T):
        _, s, v = np.linalg.svd(z - z.mean(axis=1, keepdims=True), full_matrices=False)
        k = int(np.searchsorted(np.cumsum(s**2), 0.99 * np.sum(s**2))) + 1
        kept.append(s[:k, None] * v[:k])
    return 1 - get_cca_similarity(*kept, epsilon=0.0, verbose=False)["cca_coef1"].mean()


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


ROUTES = {
    "bertshift, values alone": values_alone,
    "the straight way, values alone": straight,
    "bertshift.compare, intervals and nulls": with_intervals,
    "the straight way, intervals": straight,
}


def measured(route, asked, folder, without):
    """What a process of its own says of one route, beside its peak memory."""
    command = [
        sys.executable,
        __file__,
        "--route",
        route,
        "--folder",
        str(folder),
        "--without",
        str(without),
    ]
    command += ["--svcca", str(asked.svcca)] if asked.svcca else []
    return json.loads(
        subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.splitlines()[-1]
    )


def main():
    parser = argparse.ArgumentParser()
    for name, number in (
        ("sentences", 300),
        ("layers", 12),
        ("width", 768),
        ("blocks", 2),
        ("without", 0),
    ):
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--route", choices=ROUTES)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--svcca", type=Path)
    asked = parser.parse_args()
    if asked.route:
        texts, begun = json.loads((asked.folder / "texts.json").read_text()), perf_counter()
        seconds, values = ROUTES[asked.route](asked.folder, texts, asked)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(
            json.dumps(
                {
                    "seconds": seconds,
                    "wall": perf_counter() - begun,
                    "peak": peak,
                    "values": values,
                }
            )
        )
        return
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), asked.sentences, asked.layers, asked.width)
        found = [
            measured(route, asked, folder, asked.blocks if route.endswith("way, intervals") else 0)
            for route in ROUTES
        ]
    print(f"{asked.sentences} sentences, {asked.layers} layers of width {asked.width}")
    print(f"{'route':48}{'CPU s':>10}{'wall s':>10}{'peak GB':>10}")
    for route, one in zip(ROUTES, found):
        said = (
            f"{route}, {asked.blocks} of {BLOCKS} blocks" if route.endswith("intervals") else route
        )
        print(
            f"{said:48}{sum(one['seconds'].values()):10.1f}{one['wall']:10.1f}{one['peak']:10.2f}"
        )
    own, theirs, table, again = found
    blocks = sum(took for name, took in again["seconds"].items() if name.endswith("blocks"))
    whole = sum(again["seconds"].values()) + blocks * (BLOCKS / asked.blocks - 1)
    print(f"{f'the straight way, {BLOCKS} of {BLOCKS} blocks, calculated':48}{whole:10.1f}")
    seconds = [sum(one["seconds"].values()) for one in found]
    print(
        f"ratios: values alone {seconds[1] / seconds[0]:.1f}, with intervals {whole / seconds[2]:.1f}, "
        f"its values alone by intervals of ours {seconds[1] / seconds[2]:.1f}"
    )
    for name, one in (("values alone", own), ("the straight way", again)):
        print(f"{name}:", ", ".join(f"{part} {took:.1f}" for part, took in one["seconds"].items()))
    for one in (own, table):
        for name, values in one["values"].items():
            difference = max(abs(a - b) for a, b in zip(values, theirs["values"][name]))
            print(f"{name}: largest difference {difference:.1e}")


if __name__ == "__main__":
    main()
