"""The page in a real browser: from a folder, without a network."""

import re
import shutil
from copy import deepcopy

import pytest
import torch
from made_encoders import TEXTS, model_of, tokenizer_of

import bertshift
from bertshift.files import read_tsv, write_text
from bertshift.models.loading import save_model
from bertshift.page import compared
from bertshift.page.render import render

pytestmark = pytest.mark.slow("a browser")

INSTALL = "no Chromium: apt-get install -y --no-install-recommends chromium"


@pytest.fixture(scope="module")
def browser():
    program = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    if not program:
        pytest.skip(INSTALL)
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="pip install -r requirements.txt"
    )
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def address(made_page, page_data):
    write_text(made_page.folder / "index.html", render(page_data))
    return (made_page.folder / "index.html").as_uri()


@pytest.fixture
def opened(browser, address):
    """(view, width, dark) -> the page; after the test: nothing was asked of a network, and no
    error was shown."""
    pages, asked, errors = [], [], []

    def visit(view="#/", width=1280, dark=False):
        context = browser.new_context(
            viewport={"width": width, "height": 850}, color_scheme="dark" if dark else "light"
        )
        context.set_default_timeout(15_000)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on(
            "console",
            lambda message: errors.append(message.text) if message.type == "error" else None,
        )
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address + view)
        page.wait_for_selector("main h1")
        pages.append(context)
        return page

    yield visit
    for context in pages:
        context.close()
    folder = address.rpartition("/")[0]
    assert not [url for url in asked if not url.startswith((folder, "data:", "blob:"))]
    assert not errors


def cards(page):
    return page.locator(".card h3").all_inner_texts()


def test_filters_and_search_keep_what_fits_and_stand_in_the_address(opened, made_page):
    page, claims = opened(), made_page.claims
    assert len(cards(page)) == len(made_page.figures)
    page.get_by_role("combobox", name="Verdict").select_option("fails")
    failing = {
        f"{one.paper}/{one.figure}"
        for one in claims[claims["claim_verdict"] == "fails"].itertuples()
    }
    assert failing and len(cards(page)) == len(failing)
    page.get_by_role("button", name="Clear filters").click()
    assert len(cards(page)) == len(made_page.figures) and page.url.endswith("#/")
    page.get_by_label("Paper").select_option("hao2020")
    assert set(cards(page)) == {"Change of hidden states by layer", "Hidden states of two seeds"}
    page.get_by_label("Search").fill("seeds")
    assert cards(page) == ["Hidden states of two seeds"]
    assert "p=hao2020" in page.url and "q=seeds" in page.url
    page.reload()
    assert cards(page) == ["Hidden states of two seeds"]


def test_every_figure_opens_with_its_files_and_what_made_it(opened, made_page):
    page = opened()
    for entry, table, _ in made_page.figures:
        page.goto(page.url.partition("#")[0] + f"#/figure/{entry['name']}")
        page.wait_for_selector(".picture img")
        links = page.eval_on_selector_all(
            "main a[href]", "all => all.map(one => one.getAttribute('href'))"
        )
        files = {link for link in links if not link.startswith("#")}
        assert files == {f"{entry['name']}.{ending}" for ending in ("png", "pdf", "tsv", "txt")}
        made = page.locator("dl").inner_text()
        assert "MiniLM" in made and f"snakemake results/figures/{entry['name']}.png" in made
        drawn = (table["source"] == "ours").sum()
        assert f"{drawn} rows of ours" in made


def test_hover_tells_a_value_and_models_go_on_and_off(opened, made_page):
    page = opened("#/figure/hao2020/figure2")
    lines = page.locator(
        ".panel .chart path[aria-roledescription='line mark'], .panel .chart .mark-line path"
    )
    page.wait_for_selector(".panel .chart svg .mark-line path")
    before = lines.count()
    page.get_by_role("checkbox", name="MNLI", exact=True).uncheck()
    page.wait_for_function(
        "count => document.querySelectorAll('.panel .chart svg .mark-line path').length < count",
        arg=before,
    )
    assert lines.count() == before - 2  # the curve and its null
    page.locator(".panel .chart svg .mark-symbol path").last.hover(force=True)
    tip = page.locator("#vg-tooltip-element")
    tip.wait_for()
    page.wait_for_function(
        "document.getElementById('vg-tooltip-element').innerText.includes('Replicates')"
    )
    value = re.search(r"Value:?\s+([\d.]+)", tip.inner_text())
    assert value and "Interval" in tip.inner_text()


def test_two_models_show_measures_nulls_floors_and_heads(opened):
    page = opened("#/models")
    page.locator("select[name=a]").select_option("sst2@roberta")
    assert page.get_by_label("compared with").locator("option").all_inner_texts() == ["roberta"]
    page.locator("select[name=a]").select_option("mnli")
    assert "a=mnli&b=base" in page.url
    page.locator("h2", has_text="Heads").wait_for()
    assert "two seeds of MNLI" in legend_of(page)
    panel = page.locator(".grid .panel", has_text="Hidden states, SVCCA distance")
    panel.locator("summary").click()
    panel.locator("tbody tr").first.wait_for()
    cells = set(panel.locator("tbody td:first-child").all_inner_texts())
    assert {"null", "compared", "two seeds of MNLI"} <= cells


def legend_of(page):
    """{words: look} of the first legend; a look is what its swatch is painted with."""
    return page.eval_on_selector_all(
        "p.key i[data-look]",
        "all => Object.fromEntries(all.map(one => [one.parentElement.innerText.trim(),"
        " one.getAttribute('style') + one.className]))",
    )


def strokes_of(panel):
    """The (colour, dashes) of a panel's lines."""
    return panel.locator(".chart svg .mark-line path").evaluate_all(
        "all => all.map(one => [one.getAttribute('stroke'), one.getAttribute('stroke-dasharray')])"
    )


@pytest.fixture(scope="module")
def shuffled(made_page, page_data):
    """The address of a page with shuffled labels: of one measure, and in a figure."""
    contents = deepcopy(page_data)
    pair = contents["pairs"]["mnli_vs_base"]["measures"]
    layers = pair["svcca"]["layers"]
    pair["svcca"]["nulls"]["shuffled"] = [
        [layer, value / 2, value / 3, value, []] for layer, value, *_ in layers
    ]
    pair["svcca"]["more"] = {"noise": [1, 2, 3, 5], "shuffled": []}
    pair["rsa"]["more"] = {"noise": [4]}
    pair["cosine"]["more"] = {"noise": []}
    [figure] = [one for one in contents["figures"] if one["name"] == "hao2020/figure2"]
    chart = figure["chart"]
    chart["lines"].append(
        {"name": "mnli.shuffled", "label": "MNLI, shuffled", "null": "shuffled", "of": "mnli"}
    )
    names = [line["name"] for line in chart["lines"]]
    ours = [row for row in chart["rows"] if row[0] == names.index("mnli") and row[1] == 0]
    for row in ours:
        _, _, *rest = row
        chart["rows"] += [[len(names) - 1, 0, *rest], [names.index("mnli"), 1, *rest]]
    write_text(made_page.folder / "shuffled.html", render(contents))
    return (made_page.folder / "shuffled.html").as_uri()


def test_each_meaning_has_one_look_and_the_legend_has_what_is_drawn(opened, shuffled):
    page = opened()
    page.goto(shuffled + "#/models?a=mnli&b=base")
    panel = page.locator(".grid .panel", has_text="SVCCA distance")
    panel.scroll_into_view_if_needed()
    panel.locator(".chart svg .mark-line path").first.wait_for()
    legend = legend_of(page)
    lines = {"MNLI and Base", "null", "noise of the same size", "shuffled labels", "two seeds of MNLI"}  # fmt: skip
    assert set(legend) == lines | {"interval"} and len({*legend.values()}) == len(legend)
    strokes = strokes_of(panel)
    assert len(strokes) == len(lines) == len(set(map(str, strokes)))
    drawn_dashes = {dashes for _, dashes in strokes}
    page.goto(shuffled + "#/figure/hao2020/figure2")
    panel = page.locator(".panel", has=page.locator("fieldset.models"))
    panel.locator(".chart svg .mark-line path").first.wait_for()
    legend = legend_of(page)
    assert {"noise of the same size", "shuffled labels", "◆ published", "interval"} <= {*legend}
    assert len({*legend.values()}) == len(legend)
    [published] = {dashes for _, dashes in strokes_of(panel)} - drawn_dashes
    assert published  # the other looks are those of two models
    for box in page.get_by_role("checkbox", name="shuffled").all():
        box.uncheck()
    assert "shuffled labels" not in legend_of(page)
    page.goto(shuffled + "#/models?a=sst2@roberta&b=roberta")
    page.locator("h2", has_text="Every measure").wait_for()
    assert set(legend_of(page)) == {"SST-2@roberta and roberta", "null", "interval"}


def test_a_sentence_names_the_layers_that_changed_more_than_each_null(opened, shuffled):
    page = opened()
    page.goto(shuffled + "#/models?a=mnli&b=base")
    said = page.locator("p", has_text=re.compile("^More than")).all_inner_texts()
    assert said == [
        (
            "More than noise of the same size: Hidden states, RSA similarity, in layer 4; Hidden"
            " states, SVCCA distance, in layers 1 to 3 and 5; in no layer is it shown by"
            " Attention, cosine of maps."
        ),
        "More than shuffled labels: in no layer is it shown.",
    ]


def test_from_a_cell_to_its_heads_attention(opened):
    page = opened("#/models?a=mnli&b=base")
    heads = page.locator("section", has=page.locator("h2", has_text="Heads"))
    heads.scroll_into_view_if_needed()
    cell = heads.locator(".chart svg .mark-rect path").nth(13)  # of 12 heads a layer
    cell.click()
    page.wait_for_url(re.compile("#/head"))
    assert page.locator("main h1").inner_text() == "Layer 2, head 2 of MNLI"
    page.wait_for_selector(".maps figure:nth-child(2) svg")
    assert page.locator(".maps figcaption").all_inner_texts() == ["Before: Base", "After: MNLI"]
    page.locator(".maps summary").nth(1).click()
    page.locator(".maps figure").nth(1).locator("tbody tr").first.wait_for()
    rows = page.locator(".maps figure").nth(1).locator("tbody tr").all_inner_texts()
    looked = [row.split("\t")[:2] for row in rows if row.endswith("0.80")]
    assert ["he", "was"] in looked and {to for _, to in looked} == {
        "was"
    }  # a text in brackets stays text
    assert any("<b>becoming</b>" in row for row in rows)


def test_arrow_keys_go_through_the_heads(opened):
    page = opened("#/head?m=mnli&l=1&h=1")
    page.locator(".maps").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('h1').innerText.includes('head 2')")
    page.keyboard.press("ArrowDown")
    page.wait_for_function("document.querySelector('h1').innerText === 'Layer 2, head 2 of MNLI'")


def test_all_of_it_works_by_keyboard(opened):
    page = opened()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # skip to the content
    assert page.evaluate("document.activeElement.tagName") == "H1"
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('card')"):
            break
    page.keyboard.press("Enter")
    page.wait_for_selector(".picture")
    assert page.evaluate("document.activeElement.tagName") == "H1"  # a reader hears where they are
    term = page.locator("main .term").first
    term.focus()
    page.keyboard.press("Enter")
    assert page.locator("[popover]:popover-open").count() == 1
    page.keyboard.press("Escape")
    assert page.locator("[popover]:popover-open").count() == 0


VIEWS = ["#/", "#/figure/kovaleva2019/figure5", "#/models?a=mnli&b=base", "#/head", "#/claims"]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_no_serious_problem_and_a_narrow_screen_is_not_wider_than_itself(opened, dark):
    page = opened(dark=dark)
    for view in VIEWS if dark else VIEWS[1:3]:
        page.goto(page.url.partition("#")[0] + view)
        assert_accessible(page)


def assert_accessible(page):
    page.wait_for_selector("main h1")
    assert not serious_problems(page)
    page.set_viewport_size({"width": 390, "height": 850})
    page.wait_for_timeout(200)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1280, "height": 850})


def serious_problems(page):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.wait_for_timeout(500)
    return [
        (one["id"], one["nodes"][0]["html"], one["nodes"][0]["failureSummary"])
        for one in axe.run(page).response["violations"]
        if one["impact"] in ("serious", "critical")
    ]


@pytest.fixture(scope="module")
def beside(made_page, address):
    """The address of a page that shows two archives, of one figure, with a verdict turned."""
    name, names = "hao2020/figure2", ("one", "other")
    image = made_page.folder / f"{name}.png"
    for folder in names:
        copied = made_page.folder / folder / f"{name}.png"
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(image, copied)
    tables = dict.fromkeys(names, made_page.table(name))
    figure = compared.figure(name, tables, ["Both."] * 2, [image] * 2, ["mnli"])
    about = {"scales": ["small"], "figures": 1}
    archives = [{"name": folder, **about, "checkpoints": [f"BERT {folder}"]} for folder in names]
    told = made_page.claims.query("paper == 'hao2020' and figure == 'figure2'")
    claims = [
        {"paper": row["paper"], "agree": "opposite", "sides": [row, row | {"verdict": "fails"}]}
        for row in told.to_dict("records")
    ]
    page = compared.page(archives, [figure], claims, made_page.published, has_files=True)
    write_text(made_page.folder / "compared.html", render(page))
    return address.replace("index.html", "compared.html")


def test_axe_finds_no_serious_problem_of_two_archives(opened, beside):
    page = opened(dark=True)
    for view in ("#/", "#/figure/hao2020/figure2", "#/claims"):
        page.goto(beside + view)
        assert_accessible(page)


def test_the_page_of_two_archives_names_checkpoints_and_shows_whole_thumbnails(opened, beside):
    page = opened()
    page.goto(beside + "#/")
    page.locator(".card img").first.wait_for()
    fits = page.locator(".card img").evaluate_all(
        "all => all.map(one => getComputedStyle(one).objectFit)"
    )
    assert fits and set(fits) == {"contain"}
    assert page.locator(".panel h3").all_inner_texts() == ["BERT one", "BERT other"]
    page.goto(beside + "#/figure/hao2020/figure2")
    page.locator(".grid .panel").first.wait_for()
    page.locator(".grid .panel summary").first.click()
    page.locator(".grid .panel tbody tr").first.wait_for()
    cells = page.locator(".grid .panel").first.locator("tbody td:first-child").all_inner_texts()
    assert {"BERT one", "BERT other"} <= {*cells}
    assert set(legend_of(page)) == {"mean of replicates", "null or baseline", "interval"}


def read_two_models(page, folder, seeds, **options):
    """The title and the words of the page of models with these `seeds`, the last one the
    reference, saved in folders of one name."""
    tokenizer = tokenizer_of("bert")
    paths = [folder / str(seed) / "model" for seed in seeds]
    for seed, path in zip(seeds, paths, strict=True):
        model_of("bert", seed, vocab_size=len(tokenizer)).save_pretrained(path)
        tokenizer.save_pretrained(path)
    *models, reference = paths
    change = bertshift.compare(models, reference, TEXTS, **options)
    change.write(folder)
    page.goto((folder / "index.html").as_uri())
    page.locator("h2", has_text="Heads").wait_for()
    said = page.locator("main").inner_text() + page.locator("#foot").inner_text()
    return change, page.locator("main h1").inner_text(), said


def test_a_page_of_two_models_alone(opened, made_page):
    """What `bertshift compare --out` writes: it begins with them, and leads to no figures."""
    page, folder = opened(), made_page.folder / "two"
    change, title, said = read_two_models(page, folder, [1, 0], null="noise", draws=2)
    assert title == "1/model and 0/model"
    panels = page.locator("main .grid h3").all_inner_texts()
    assert len(panels) == 5 and "Hidden states, CKA, debiased" in panels
    lines = {"noise of the same size", "made in the layer", "arrived from below"}
    assert lines | {"interval", title} <= {*legend_of(page)}
    beyond = {measure: change.beyond_noise(measure) for measure in change.profile.index}
    assert ("in layer" in said) == any(beyond.values())
    assert "More than every draw of noise of the same size: " in said
    page.locator("main .grid summary").first.click()
    page.locator("main td", has_text="noise").first.wait_for()
    assert page.locator("main td", has_text="noise").count() == 5
    assert page.locator("main td", has_text="made in the layer").count() == 4
    top = change.texts["position"][0]
    text = page.locator(".texts li .text").first
    assert text.inner_text().split() == TEXTS[top].split()
    page.locator("select[name=layer]").select_option(label="1")
    told = text.locator("span").evaluate_all("all => all.map(one => one.title)")
    expected = change.words_in(top)["layer_1"]
    assert told == [f"changes by {float(f'{value:.3g}')}" for value in expected]
    assert_accessible(page)
    assert "6 texts" in said and "snakemake" not in said and "Scale" not in said
    assert not re.search("replicate|pretraining run", said)


def test_a_page_of_several_replicates_alone_says_so(opened, made_page):
    _, title, said = read_two_models(opened(), made_page.folder / "more", [1, 2, 0])
    assert title == "1/model and 1 more and 0/model"
    assert "replicates" in said and "pretraining run" not in said


@pytest.fixture(scope="module")
def moved(made_page):
    """Folders of a model and of two that lie on one line from it, and a page of the weights of the
    last one (`weights`) and one of their course (`steps`)."""
    folder, tokenizer = made_page.folder / "moved", tokenizer_of("bert")
    for step in (0, 10, 20):
        model = model_of("bert", 0, vocab_size=len(tokenizer))
        generator = torch.manual_seed(1)
        with torch.no_grad():
            for weight in model.encoder.parameters():
                weight += 2e-3 * step * torch.randn(weight.shape, generator=generator)
        save_model(folder / f"checkpoint-{step}", model, tokenizer)
    base = folder / "checkpoint-0"
    bertshift.weights(folder / "checkpoint-20", base).write(folder / "weights")
    bertshift.along(folder, base, TEXTS, measures=["rsa", "js"]).write(folder / "steps")
    return folder


def test_a_page_of_weights_is_sorted_and_filtered_in_its_address(opened, moved):
    page, address = opened(dark=True), (moved / "weights/index.html").as_uri()
    page.goto(address)
    page.locator("table.listed tbody tr").first.wait_for()
    page.locator(".chart svg .mark-rect path").first.wait_for()
    table = read_tsv(moved / "weights/weights.tsv")
    assert page.locator("table.listed tbody tr").count() == len(table)
    page.locator("select[name=k]").select_option("norms")
    for _ in range(2):
        page.get_by_role("button", name="Relative norm").click()
    norms = table[table["kind"] == "norms"].sort_values("norm", ascending=False)
    shown = page.locator("table.listed tbody tr td:first-child").all_inner_texts()
    assert len(shown) == len(norms) and shown[0] == norms["tensor"].iloc[0]
    assert "k=norms" in page.url and "s=norm" in page.url and "d=down" in page.url
    assert_accessible(page)


def test_a_page_of_a_training_draws_every_measure_and_half_of_the_change(opened, moved):
    page = opened()
    page.goto((moved / "steps/index.html").as_uri())
    page.locator(".grid .chart svg").first.wait_for()
    assert_accessible(page)
    halves = read_tsv(moved / "steps/halves.tsv")
    layer = page.locator("section", has_text="Each layer over the steps").get_by_label("Layer")
    layer.first.select_option(label="2")
    [step] = halves.query("measure == 'rsa' and layer == 2")["step"]
    said = page.locator(".key", has_text="Half of the change at step").first.inner_text()
    assert said.startswith(f"Half of the change at step {float(f'{step:.3g}'):g} [")
    titles = page.locator(".grid h3").all_inner_texts()
    assert titles == ["Hidden states, RSA similarity", "Attention, JS divergence in nats"] * 3
