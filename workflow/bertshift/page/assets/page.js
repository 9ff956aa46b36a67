// One page of hash routes: #/ (all figures), #/figure/<paper>/<item>, #/models, #/head, #/claims.
// All text enters as text nodes; what is chosen stands in the address, so that a view can be linked.
const data = JSON.parse(new TextDecoder().decode(await unpacked(document.getElementById("data").textContent)));
const main = document.getElementById("main");
const VERDICTS = {
  holds: ["✓", "hold", "holds"], fails: ["✗", "fail", "fails"], undecided: ["?", "undecided", "undecided"],
  untested: ["–", "not testable here", "not testable here"],
};
const [OURS, PUBLISHED, BESIDE] = [0, 1, 2];
const figures = Object.fromEntries(data.figures.map(each => [each.name, each]));
const papers = Object.fromEntries(data.papers.map(each => [each.name, each]));
for (const each of data.figures)
  each.claims = data.claims.filter(one => `${one.paper}/${one.figure}` === each.name);
const label = name => data.labels[name] ?? name;
const demo = data.scales.includes("demo");
// Models that no figure shows have a report: then the page is theirs.
const alone = Boolean(data.report);
// Files stand beside the page, but not where it is shown inside another, as in Snakemake's report.
const beside = data.compared?.has_files !== false && ["file:", "http:", "https:"].includes(location.protocol);

// Bytes of a text: packed by zlib, in base64.
async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), one => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// ---- Elements

function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
  return element;
}

// Numbers have a minus sign: "-6.8" and "9.4e-05" of texts and tables, as on the axes of charts.
const minus = text => text.replace(/(?<![\w.)])-(?=\.?\d)|(?<=\de)-(?=\d)/g, "−");
const number = value => value === null || value === undefined ? "" : minus(String(value));
for (const one of [...data.claims, ...(data.compared?.claims ?? []).flatMap(one => [one, ...one.sides.filter(Boolean)])])
  for (const key of ["statement", "measure", "published_value", "reason"]) if (one[key]) one[key] = minus(one[key]);
const interval = (value, low, high) =>
  value === null ? "" : number(round(value)) + (low === null ? "" : ` [${number(round(low))}, ${number(round(high))}]`);
const round = value => Number(value.toPrecision(3));
const many = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

// ---- What words mean, where they stand

const TERMS = {
  brackets: alone ? ["Interval", "The 95 % interval of a value, over texts and, where there are several, replicates."] : ["Brackets", "Behind a mean, brackets hold the ends of its interval. Which one it is stands under “What made it”: " +
    "as a rule 95 %, over replicates and over blocks of inputs. A claim holds, or fails, where the whole interval says so. Two replicates give wide intervals."],
  replicate: ["Replicate", "An independent pretraining run. Where there is one pretraining run alone, a replicate is a seed of " +
    "fine-tuning. Several seeds on one pretraining run are averaged first."],
  crop: ["crop and padded", "crop: maps of the real tokens alone. padded: inputs filled up to one length, with the rows of the " +
    "padding, as in Kovaleva et al. 2019."],
  null: ["Null", "What the same measure gives for representations that have nothing to do with each other, of the same size and " +
    "number of tokens. A distance says something where it lies away from its null."],
  noise: ["Noise of the same size", "The same measure between the second model and itself with random weights added, " +
    "as large as the change. The line is the mean of some draws, the band reaches from the smallest to the largest."],
  shuffled: ["Shuffled labels", "The same measure where the first model was trained in the same way on labels dealt anew, which say nothing. " +
    "What is no larger than this is due to training, not to the task. The band reaches from the smallest replicate to the largest."],
  floor: ["Two seeds", "The same measure between two fine-tunings of one task that differ in their seed alone: what is no larger " +
    "than this is not due to the task."],
  made: ["Made here, or arrived", "The same measure of a layer's output where only its weights are the first model's (made), or only its input " +
    "is (arrived); the rest is the second model's. A profile of the whole change mixes the two."],
  undecided: ["Undecided", "The interval of our number lies on both sides of what the claim says. More seeds or more inputs may decide it."],
  untested: ["Not testable here", "There is no number, or no verdict follows from it: one replicate only, models of another size " +
    "or family, or numbers that the paper does not give."],
  corrected: ["Correction for the number of claims", "All claims of a paper are decided on the same few runs, and the more are decided, " +
    "the more hold, or fail, by chance. Holm's correction (1979) allows for that: with 97.5 % probability none of these holds by chance, and none fails so."],
  beside: ["Nulls of claims", "Noise of this size is the pretrained model with random weights added, in every tensor as large as the change " +
    "by fine-tuning. A model of shuffled labels was fine-tuned in the same way, on labels dealt anew. Where a claim holds, its number is " +
    "compared with theirs: it is more where the whole interval of the difference says so."],
  world: ["A generated world", "The demo pretrains small models on text that a program writes. Its verdicts say that the machinery " +
    "works. They say nothing about BERT, and reproduce no paper."],
  model: ["A model's name", null],
};
const MEANT = { replicate: /^replicates?$/i, crop: /^(crop|padded)$/i, null: /^nulls?$/i };

function term(key, words) {
  return h("button", { type: "button", class: "term", popovertarget: `term-${key}` }, words);
}

function explained(text, seen = new Set()) {
  return text.split(/\b(replicates?|crop|padded|nulls?)\b/i).map(part => {
    const key = Object.keys(MEANT).find(one => MEANT[one].test(part));
    if (!key || seen.has(key)) return part;
    seen.add(key);
    return term(key, part);
  });
}

function popovers() {
  const rows = [["mnli", "fine-tuned on MNLI, from the checkpoint base"], ["mnli@large", "fine-tuned from another checkpoint"],
    ["wnli+cola", "fine-tuned on WNLI, then on CoLA"], ["mnli_vs_base", "two models, compared"], ...data.variants];
  return Object.entries(TERMS).map(([key, [title, words]]) => h("div", { popover: true, id: `term-${key}` },
    h("h3", {}, title), h("p", { style: "margin:.4rem 0 0" }, words ??
      "A name describes how a model was trained. What follows a point is how it departs from plain fine-tuning; layers and heads count from 1."),
    words ? null : h("table", {}, h("tbody", {}, rows.map(([name, does]) => h("tr", {}, h("td", {}, h("code", {}, name)), h("td", {}, does)))))));
}

// ---- Verdicts

// The cases of a claim share its verdict: a claim counts once.
const unique = claims => [...new Map(claims.map(one => [`${one.paper}/${one.id}`, one])).values()];

function counted(verdicts) {
  const counts = { holds: 0, fails: 0, undecided: 0, untested: 0 };
  for (const verdict of verdicts) counts[verdict] += 1;
  return Object.entries(counts);
}

const countedClaims = claims => counted(unique(claims).map(one => one.claim_verdict));

function verdictBar(claims, thick = false) {
  const counts = countedClaims(claims).filter(([, count]) => count);
  const words = counts.map(([verdict, count]) => `${count} ${VERDICTS[verdict][1]}`).join(", ") || "no claims";
  return h("div", { class: thick ? "bar thick" : "bar", role: "img", "aria-label": `Claims: ${words}` },
    counts.map(([verdict, count]) => h("span", { class: verdict, style: `flex:${count}`, title: `${count} ${VERDICTS[verdict][1]}` })));
}

function verdictCounts(claims, words = true) {
  return claims.length ? countsInWords(countedClaims(claims), words) : h("span", { class: "counts" }, "No claim");
}

function countsInWords(all, words = true) {
  const counts = all.filter(([, count]) => count);
  return h("span", { class: "counts" }, counts.map(([verdict, count]) =>
    h("span", { title: VERDICTS[verdict][1] }, `${VERDICTS[verdict][0]} ${count}${words ? " " + VERDICTS[verdict][1] : ""}`)));
}

const chip = (verdict, null_ = "") => h("span", { class: `chip ${verdict}` }, `${VERDICTS[verdict][0]} ${VERDICTS[verdict][2]}${null_ && `, ${null_}`}`);

// Of the claims that hold, how many have a number beyond that of each null.
function besideNulls(claims) {
  const phrases = unique(claims).flatMap(one => one.claim_null ? one.claim_null.split("; ") : []).sort();
  if (!phrases.length) return null;
  const counts = [...new Set(phrases)].map(one => `${phrases.filter(each => each === one).length} ${one}`);
  return h("p", { class: "soft small" }, "Beside their ", term("beside", "nulls"), `, of those that hold: ${counts.join(", ")}.`);
}

// How many claims hold, and fail, and how many do so after correction for their number.
function corrected(paper) {
  const counts = Object.fromEntries(countedClaims(data.claims.filter(one => one.paper === paper.name)));
  return `${paper.short}: ` + ["holds", "fails"].map(one => `${counts[one]} ${VERDICTS[one][1]}, ${paper.corrected[one]} after Holm`).join("; ");
}

function worldNote() {
  const warning = demo
    ? [h("strong", {}, "About a generated world. "), "A small model, pretrained here on text that a program wrote: ",
       term("world", "verdicts of the demo"), " show that everything runs, and reproduce no paper."]
    : [h("strong", {}, `Scale: ${data.scales.join(", ")}. `), `Checkpoints: ${data.checkpoints.slice(0, 4).join("; ")}${data.checkpoints.length > 4 ? "; …" : ""}.`];
  return h("p", { class: "world" }, warning);
}

// ---- Filters, which the figures and the claims share

const FILTERS = ["v", "p", "t", "q"];

function choiceOf(query, set, key, text, options) {
  return h("label", {}, text, h("select", { name: key, onchange: event => set(key, event.target.value) },
    h("option", { value: "" }, "All"), options.map(([value, label]) => h("option", { value, selected: query.get(key) === value }, label))));
}

function searchOf(query, set, placeholder = null) {
  return h("label", { class: "search" }, "Search", h("input", { type: "search", name: "q", value: query.get("q") ?? "", placeholder, oninput: event => set("q", event.target.value) }));
}

const setter = (query, redraw) => (key, value) => { value ? query.set(key, value) : query.delete(key); remember(query); redraw(); };

// How many are left, and a button that shows all again.
function left(query, keys, ...text) {
  const clear = () => { for (const key of keys) query.delete(key); remember(query); focusAgain = "q"; route(); };
  return [text, keys.some(key => query.get(key)) ? [" ", h("button", { type: "button", class: "plain", onclick: clear }, "Clear filters")] : null].flat(Infinity).filter(Boolean);
}

// Of figures, one verdict is chosen; of claims, any number.
function filters(query, redraw, verdicts) {
  const set = setter(query, redraw), tasks = [...new Set(data.figures.flatMap(each => each.tasks))];
  return h("div", { class: "filters" },
    verdicts ? choiceOf(query, set, "v", "Verdict", Object.entries(VERDICTS).map(([verdict, words]) => [verdict, words[2]])) : null,
    choiceOf(query, set, "p", "Paper", data.papers.map(each => [each.name, each.short])),
    choiceOf(query, set, "t", "Task", tasks.map(task => [task, label(task)])),
    searchOf(query, set, "layer, separators, MNLI, …"));
}

// The counts of all claims: `make` turns the words of each verdict into a link or a button.
const totals = make => h("div", { class: "totals", role: "group", "aria-label": "Claims by verdict" },
  countedClaims(data.claims).map(([verdict, count]) => make(verdict, [h("b", {}, count), " ", VERDICTS[verdict][1]])));

function verdictButtons(query, redraw) {
  const set = setter(query, redraw), chosen = new Set(wanted(query));
  return totals((verdict, text) => h("button", { type: "button", class: verdict, "aria-pressed": String(chosen.has(verdict)), onclick: event => {
    chosen.has(verdict) ? chosen.delete(verdict) : chosen.add(verdict);
    event.currentTarget.setAttribute("aria-pressed", String(chosen.has(verdict)));
    set("v", [...chosen].join(","));
  } }, text));
}

const wanted = query => (query.get("v") ?? "").split(",").filter(Boolean);
const words = query => minus(query.get("q") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
const said = one => `${one.claim} ${one.statement} ${one.measure} ${one.reason}`.toLowerCase();

function figureFits(each, query) {
  if (query.get("p") && each.paper !== query.get("p")) return false;
  if (query.get("t") && !each.tasks.includes(query.get("t"))) return false;
  const verdicts = wanted(query), own = `${each.title} ${each.place} ${each.shows} ${each.name} ${papers[each.paper].short}`.toLowerCase();
  if (verdicts.length && !each.claims.some(one => verdicts.includes(one.claim_verdict))) return false;
  return words(query).every(word => own.includes(word) || each.claims.some(one => said(one).includes(word)));
}

function claimFits(one, query) {
  const each = figures[`${one.paper}/${one.figure}`];
  if (query.get("p") && one.paper !== query.get("p")) return false;
  if (query.get("t") && !(one.claim.match(/\w+/g) ?? []).includes(query.get("t")) && !(each?.tasks.length === 1 && each.tasks[0] === query.get("t"))) return false;
  const verdicts = wanted(query);
  if (verdicts.length && !verdicts.includes(one.claim_verdict)) return false;
  const text = `${said(one)} ${each?.title ?? ""} ${papers[one.paper]?.short ?? ""}`.toLowerCase();
  return words(query).every(word => text.includes(word));
}

// ---- All figures

function overview(query) {
  const list = h("div"), count = h("p", { class: "soft small", role: "status" });
  const draw = () => {
    const shown = data.figures.filter(each => figureFits(each, query));
    count.replaceChildren(...left(query, FILTERS, `${many(shown.length, "figure")} of ${data.figures.length}`));
    list.replaceChildren(...data.papers.map(paper => paperSection(paper, shown.filter(each => each.paper === paper.name))).filter(Boolean));
  };
  draw();
  return [
    h("h1", { tabindex: "-1" }, data.title),
    h("p", { class: "wide soft" }, `${many(data.figures.length, "figure")}, each with its numbers and what made them. `,
      `Of ${many(unique(data.claims).length, "claim")}, so many hold, fail, are `, term("undecided", "undecided"), " or ", term("untested", "not testable"), " here:"),
    worldNote(), verdictBar(data.claims, true), besideNulls(data.claims), totals((verdict, text) => h("a", { class: verdict, href: `#/claims?v=${verdict}` }, text)),
    filters(query, draw, true), count, list,
  ];
}

function paperSection(paper, shown) {
  if (!shown.length) return null;
  const claims = data.claims.filter(one => one.paper === paper.name);
  return h("section", { class: "paper", id: paper.name },
    h("header", {}, h("div", {}, h("h2", {}, paper.short),
      paper.citation !== paper.short ? h("p", { class: "soft small", style: "margin:.15rem 0 0" }, paper.citation) : null),
      h("div", {}, verdictBar(claims), verdictCounts(claims))),
    h("ul", { class: "cards" }, shown.map(each => h("li", {}, card(each)))));
}

function card(each) {
  return h("a", { class: "card", href: `#/figure/${each.name}` },
    h("div", { class: "window" }, h("img", { src: each.thumbnail.url, alt: "", loading: "lazy" })),
    h("div", { class: "text" }, h("h3", {}, each.title), each.place ? h("span", { class: "soft small" }, each.place) : null,
      verdictCounts(each.claims, false)));
}

// ---- One figure

function figurePage(name) {
  const each = figures[name];
  if (!each) return notFound(name);
  const place = data.figures.indexOf(each), before = data.figures[place - 1], after = data.figures[place + 1];
  const seen = new Set(), file = kind => `${each.name}.${kind}`, kept = kind => !each.absent.includes(kind);
  const image = h("img", { src: beside ? file("png") : each.thumbnail.url, alt: `${each.title}: the figure`, width: each.thumbnail.size[0], height: each.thumbnail.size[1],
    onerror: event => { if (event.target.src !== each.thumbnail.url) event.target.src = each.thumbnail.url; } });
  return [
    h("div", { class: "crumbs" }, h("a", { href: `#/?p=${each.paper}` }, papers[each.paper].short),
      h("span", {}, before ? h("a", { href: `#/figure/${before.name}`, rel: "prev" }, "← previous") : null, before && after ? " · " : null,
        after ? h("a", { href: `#/figure/${after.name}`, rel: "next" }, "next →") : null)),
    h("h1", { tabindex: "-1" }, each.title),
    h("p", { class: "soft" }, [each.place || (each.paper === "beyond" ? "" : "A control of ours"), each.place || each.paper !== "beyond" ? " · " : "", verdictCounts(each.claims)]),
    h("figure", { class: "picture" }, h(beside ? "a" : "div", beside ? { href: file(kept("pdf") ? "pdf" : "png") } : {}, image),
      h("figcaption", {}, beside ? h("ul", { class: "links" },
        [["tsv", "Every number drawn (TSV)"], ["pdf", "PDF"], ["png", "PNG"], ["txt", "Caption"]].filter(([kind]) => kept(kind)).map(([kind, text]) => h("li", {}, h("a", { href: file(kind) }, text)))) : null,
        h("div", { class: "caption" }, explained(each.shows, seen)))),
    each.chart || each.numbers?.rows.length ? h("section", {}, h("h2", {}, "Its numbers"), each.chart ? explorer(each) : numbersList(each.numbers, ["Ours"])) : null,
    each.claims.length ? h("section", {}, h("h2", {}, each.paper === "beyond" ? "What is claimed" : "What the paper claims"), demo ? worldNote() : null, claimKey(each.claims), claimGroups(each.claims).map(cases => claimGroup(cases, seen))) : null,
    h("section", {}, h("h2", {}, "What made it"), madeOf(each)),
  ];
}

function madeOf(each) {
  const items = list => list.length === 1 ? list[0] : h("ul", {}, list.map(one => h("li", {}, one)));
  const failed = each.trained.filter(one => one.failed);
  const rows = [
    ["Scale", each.scale.join(", ")],
    ["Checkpoints", items(each.checkpoint)],
    ["Data, with rows used", each.data.length > 6 ? h("details", { style: "margin:0" }, h("summary", {}, many(each.data.length, "sample")), items(each.data)) : items(each.data)],
    ["Numbers", `${many(each.rows, "row")} of ours`],
    ["Replicates", items(each.runs.map(one => `${many(one.numbers, "number")}: ${many(one.replicates, one.unit || "replicate")}, ${one.interval === "none" ? "no interval" : "interval " + one.interval}`))],
    ["Failed runs", failed.length ? items(failed.map(one => `${label(one.model)}: up to ${one.failed} of ${one.failed + one.trained} did not learn the task`)) :
      each.trained.length ? `none of ${each.trained.reduce((sum, one) => sum + one.trained, 0)}, as far as the table says` : "the table does not say"],
    ["Published numbers", each.cited.length ? items(each.cited) : "none in the figure"],
    ["Make it again", h("code", {}, each.command)],
    ["Cost", each.cost.length ? items(each.cost.map(([what, jobs, hours]) => `${what}: ${hours} CPU-hours in ${many(jobs, "job")}`)) : "no record of it here"],
    each.tables.length ? ["Tables that it reads", h("details", { style: "margin:0" }, h("summary", {}, many(each.tables.length, "table")), items(each.tables))] : null,
  ];
  return h("dl", { class: "panel" }, rows.filter(Boolean).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

// ---- Claims

// Cases of one statement that are decided alike stand on one axis.
function claimGroups(claims) {
  const groups = Map.groupBy(claims, one => `${one.id}|${one.measure}`);
  return [...groups.values()];
}

function claimGroup(cases, seen) {
  const [one] = cases, chart = h("div", { class: "chart" }), single = cases.length === 1;
  const drawn = cases.filter(each => each.ours !== null || each.published);
  if (drawn.length) later(chart, () => draw(chart, claimSpec(drawn), `${one.id}: ` + drawn.map(each =>
    `${each.case} ours ${interval(each.ours, each.low, each.high) || "none"}, published ${each.published_value || "none"}`).join("; ")));
  return h("article", { class: "claim" },
    h("div", {}, h("p", {}, h("strong", {}, single ? one.claim : one.id), " ", h("span", { class: "soft small" }, `${one.place}, ${one.strength}`), " ", chip(one.claim_verdict, one.claim_null)),
      single ? null : h("p", { class: "small" }, h("span", { class: "soft" }, `Over ${one.over} of ${many(cases.length, "case")}: `), countsInWords(counted(cases.map(each => each.verdict)))),
      h("p", { class: "statement" }, one.statement), h("p", { class: "small" }, h("span", { class: "soft" }, "Decided by: "), explained(one.measure, seen)),
      single ? h("p", { class: "small" }, h("span", { class: "soft" }, "Ours "), one.ours === null ? "no number" : interval(one.ours, one.low, one.high),
        one.ours === null ? null : ["; ", term("replicate", many(one.replicates, "replicate"))], one.published_value ? [h("span", { class: "soft" }, " · Published "), one.published_value] : null) : null,
      single ? h("p", { class: "soft small" }, explained(one.reason, seen)) : null),
    drawn.length ? chart : h("div"),
    single ? null : h("details", { class: "cases" }, h("summary", {}, `${cases.length} cases`), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Cases of ${one.id}` },
      h("table", {}, h("thead", {}, h("tr", {}, ["Case", "Verdict", "Ours", "Replicates", "Published", "Why"].map(text => h("th", { scope: "col" }, text)))),
        h("tbody", {}, cases.map(each => h("tr", {}, h("th", { scope: "row" }, explained(each.case, seen)), h("td", {}, chip(each.verdict, each.null)), h("td", {}, interval(each.ours, each.low, each.high)), h("td", {}, each.replicates || ""), h("td", {}, each.published_value), h("td", {}, each.reason))))))));
}

// Heads of a table's columns [key, title, row -> value, class], which order its rows as the address says.
function sortable(query, columns, redraw) {
  const sort = key => {
    query.set("d", query.get("s") === key && query.get("d") !== "down" ? "down" : "up");
    query.set("s", key); remember(query); redraw();
  };
  const heads = columns.map(([key, text, , kind]) => h("th", { scope: "col", class: kind, "data-key": key }, h("button", { type: "button", onclick: () => sort(key) }, text)));
  const sorted = rows => {
    const key = query.get("s") ?? "", sign = query.get("d") === "down" ? -1 : 1, value = columns.find(one => one[0] === key)?.[2];
    for (const head of heads) head.setAttribute("aria-sort", head.dataset.key !== key ? "none" : sign > 0 ? "ascending" : "descending");
    return value ? rows.toSorted((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === null || y === null) return (x === null) - (y === null); // what has no number stands last
      return sign * (typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) : x - y);
    }) : rows;
  };
  return { heads, sorted };
}

const COLUMNS = [
  ["claim", "Claim", one => one.claim], ["statement", "What is claimed", one => one.statement],
  ["figure", "Figure", one => data.figures.findIndex(each => each.name === `${one.paper}/${one.figure}`)],
  ["verdict", "Verdict", one => Object.keys(VERDICTS).indexOf(one.verdict)], ["published", "Published", one => one.published?.[0] ?? null],
  ["ours", "Ours", one => one.ours, "number"], ["replicates", "Replicates", one => one.replicates, "number"],
];

function claimsPage(query) {
  const body = h("tbody"), count = h("p", { class: "soft small", role: "status" });
  const { heads, sorted } = sortable(query, COLUMNS, () => drawRows());
  const drawRows = () => {
    const rows = sorted(data.claims.filter(one => claimFits(one, query)));
    count.replaceChildren(...left(query, FILTERS, `${many(unique(rows).length, "claim")} of ${unique(data.claims).length}, in ${many(rows.length, "row")}: `, countedClaims(rows).map(([verdict, number]) => `${number} ${VERDICTS[verdict][1]}`).join(", ")));
    body.replaceChildren(...rows.map(one => {
      const each = figures[`${one.paper}/${one.figure}`];
      const cell = (head, kind, ...children) => h("td", { class: kind, "data-head": head }, children);
      return h("tr", {}, h("th", { scope: "row" }, explained(one.claim)),
        cell("", "", one.statement, h("div", { class: "soft" }, `${one.place}, ${one.strength}. Decided by: ${one.measure}`)),
        cell("", "", h("a", { href: `#/figure/${one.paper}/${one.figure}` }, each?.title ?? one.figure), h("div", { class: "soft" }, papers[one.paper]?.short ?? one.paper)),
        cell("", "", chip(one.verdict, one.null), h("div", { class: "soft" }, one.reason, one.claim === one.id ? null : ` ${one.id} over ${one.over} of its cases: ${VERDICTS[one.claim_verdict][2]}${one.claim_null && `, ${one.claim_null}`}.`)),
        cell("Published ", one.published ? "number" : "", one.published_value || "–"), cell("Ours ", "number", interval(one.ours, one.low, one.high) || "–"), cell("Replicates ", "number", one.replicates || "–"));
    }));
  };
  drawRows();
  return [
    h("h1", { tabindex: "-1" }, "Claims"),
    h("p", { class: "wide" }, "Every statement that was put to the test. Behind a number of ours stands its interval in ", term("brackets", "brackets"), ", and how many ",
      term("replicate", "replicates"), " it has. In the names of claims, ", term("crop", "crop"), " and ", term("crop", "padded"), " are two kinds of attention maps. ",
      "The ", term("model", "name"), " of a model describes how it was trained."),
    worldNote(), verdictButtons(query, drawRows), filters(query, drawRows),
    besideNulls(data.claims),
    h("p", { class: "soft small" }, "With ", term("corrected", "correction"), " for the number of a paper's claims. ",
      data.papers.map(corrected).join(" · "), "."),
    count,
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Claims" },
      h("table", { class: "claims" }, h("caption", { class: "soft small", style: "text-align:left;padding-bottom:.4rem" },
        demo ? "Verdicts about a generated world, not about BERT" : "Verdicts"), h("thead", {}, h("tr", {}, heads)), body)),
  ];
}

// ---- Charts

const AXIS = { labelColor: "var(--soft)", titleColor: "var(--soft)", gridColor: "var(--line)", domainColor: "var(--soft)", tickColor: "var(--line)",
  labelFontSize: 11, titleFontSize: 12, titleFontWeight: "normal", labelFont: "system-ui, sans-serif", titleFont: "system-ui, sans-serif" };
const CONFIG = { background: null, font: "system-ui, sans-serif", view: { stroke: null }, axis: AXIS,
  legend: { labelColor: "var(--soft)", titleColor: "var(--soft)", titleFontWeight: "normal" }, aria: true };

function draw(container, spec, description) {
  if (!window.vegaEmbed) return;
  const view = window.vegaEmbed(container, { $schema: "https://vega.github.io/schema/vega-lite/v6.json", config: CONFIG, description, ...spec },
    { actions: false, renderer: "svg", tooltip: { theme: "custom" } });
  drawing.push(view);
  return view;
}

let drawing = [], waiting = [];
// Charts are drawn when they come near the screen: a page may have a hundred.
const near = new IntersectionObserver(entries => {
  for (const entry of entries) if (entry.isIntersecting) { near.unobserve(entry.target); entry.target.later?.(); entry.target.later = null; }
}, { rootMargin: "600px" });
function later(element, function_) { element.later = function_; waiting.push(element); near.observe(element); }
addEventListener("beforeprint", () => waiting.forEach(element => { element.later?.(); element.later = null; }));

const BLUES = ["#f7fbff", "#deebf7", "#c6dbef", "#9ecae1", "#6baed6", "#4292c6", "#2171b5", "#08519c", "#08306b"];
const LOSS_TO_GAIN = ["#f0a070", "#ffffff", "#80b8de"];
const lighter = colour => colour === "#000000" ? "var(--ink)" : `light-dark(${colour}, color-mix(in oklab, ${colour}, white 30%))`;
const SPARE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5E4FA2", "#8C510A", "#7F6A00", "#666666"];

function coloursOf(names) { // A model has its task's colour, the second of one task another.
  const used = new Set();
  return names.map(name => {
    const own = data.colours[name];
    const colour = own && !used.has(own) ? own : SPARE.find(one => !used.has(one)) ?? "#999999";
    used.add(colour);
    return lighter(colour);
  });
}

// How a line of each meaning looks, in every chart and legend: its width, its dashes (lengths drawn and left out in turn), and how
// opaque its band is, if it has one. Noise is grey; shuffled labels have the colour of their model, or their own where there is one model.
const LOOKS = {
  ours: { width: 2, dashes: [1, 0], band: 0.15 }, noise: { width: 1.5, dashes: [1, 0], band: 0.25 }, shuffled: { width: 1.5, dashes: [6, 2, 1, 2, 1, 2], band: 0.25 },
  made: { width: 1.5, dashes: [9, 2] }, arrived: { width: 1.5, dashes: [4, 2] },
  beside: { width: 1.5, dashes: [2, 3] }, floor: { width: 1.5, dashes: [6, 3] }, published: { width: 1.5, dashes: [14, 4] },
};
const NULLS = { noise: "noise of the same size", shuffled: "shuffled labels" };
const PARTS = { made: "made in the layer", arrived: "arrived from below" };

// A line as a legend shows it, with its band.
function sample(meaning, colour = "var(--soft)") {
  const { dashes, band } = LOOKS[meaning], is = (from, length, fill) => `${fill} ${from}px ${from + length}px`;
  const parts = dashes.map((length, k) => is(dashes.slice(0, k).reduce((sum, one) => sum + one, 0), length, k % 2 ? "transparent" : "currentColor"));
  const shade = band && meaning !== "ours" ? `, linear-gradient(color-mix(in srgb, currentColor ${100 * band}%, transparent) 0 100%)` : "";
  return h("i", { "data-look": meaning, style: `color:${colour};background:repeating-linear-gradient(90deg, ${parts.join(", ")}) center / 100% 2px no-repeat${shade}` });
}

// The legend of drawn rows: what has no row is not in it. `entries`: [meaning, words, colour] of each line.
function legend(rows, entries, colour) {
  const drawn = new Set(rows.map(row => row.meaning)), banded = rows.some(row => row.meaning === "ours" && row.low !== null);
  return h("p", { class: "key" }, entries.filter(([meaning]) => drawn.has(meaning)).map(([meaning, words, own]) => [h("span", {}, sample(meaning, own), words), " "]),
    banded ? h("span", {}, h("i", { class: "band", "data-look": "interval", style: `color:${colour}` }), term("brackets", "interval")) : null,
    rows.some(row => row.run) ? "; small dots are replicates" : null);
}

function coloursOfLines(lines) {
  const models = lines.filter(one => !one.null).map(one => one.name), colours = coloursOf(models);
  return lines.map(one => one.null === "noise" ? "var(--soft)" : colours[models.indexOf(one.of ?? one.name)] ?? "var(--soft)");
}

// The values, and of intervals no more than a share of their range on either side: those of two replicates may be far wider.
function reach(values, ends, share = 1) {
  const [least, most] = [Math.min(...values), Math.max(...values)], range = most - least || Math.abs(most) || 1;
  let low = Math.max(Math.min(least, ...ends), least - share * range), high = Math.min(Math.max(most, ...ends), most + share * range);
  if (low === high) [low, high] = [Math.min(low, 0), Math.max(high, 0) || 1]; // one value alone: an axis from 0
  const room = 0.04 * (high - low);
  return [low - room, high + room];
}

function lineSpec(rows, { x, xTitle, names, colours, height = 260, wide = true }) {
  const known = rows.filter(row => row.low !== null);
  const few = new Set(known.map(row => row.line)).size < 4; // many bands hide each other
  const domain = reach(rows.map(row => row.value), known.flatMap(row => [row.low, row.high]), few ? 1 : 0.3);
  const whole = rows.every(row => Number.isInteger(row.x)), span = [Math.min(...rows.map(row => row.x)), Math.max(...rows.map(row => row.x))];
  const pad = whole ? 0.3 : 0.02;
  const encoding = {
    x: { field: "x", type: "quantitative", title: xTitle, scale: { domain: [span[0] - pad, span[1] + pad], nice: false },
      axis: { grid: false, ...(whole ? { tickMinStep: 1, format: "d", tickCount: Math.min(12, span[1] - span[0] + 1) } : {}) } },
    y: { field: "value", type: "quantitative", title: null, scale: { domain, zero: false, nice: false }, axis: { minExtent: 34, tickCount: 6 } },
    color: { field: "line", type: "nominal", scale: { domain: names, range: colours }, legend: null },
  };
  const tooltip = ["Model", "What", xTitle.replace(" (0 = embeddings)", ""), "Value", "Interval", "Replicates"].filter(field => rows.some(row => row[field] !== "")).map(field => ({ field, type: "nominal" }));
  const quiet = { aria: false, clip: true }; // what the mouse finds is also what is read aloud
  const of = meaning => ({ filter: `datum.meaning === '${meaning}' && datum.run === ''` });
  const drawn = x === "head" ? [] : Object.entries(LOOKS).filter(([meaning]) => rows.some(row => row.meaning === meaning));
  const toEnds = { y: { ...encoding.y, field: "low" }, y2: { field: "high" } };
  const bands = drawn.filter(([, look]) => look.band).map(([meaning, look]) => (
    { transform: [of(meaning), { filter: "datum.low !== null" }], mark: { ...quiet, type: "area", opacity: few ? look.band : 0.06 }, encoding: toEnds }));
  const lines = drawn.map(([meaning, { width, dashes }]) => (
    { transform: [of(meaning)], mark: { ...quiet, type: "line", strokeWidth: width, strokeDash: dashes }, encoding: ["beside", "published"].includes(meaning) ? { detail: { field: "what" } } : {} }));
  return {
    width: "container", height, autosize: { type: "fit-x", contains: "padding" }, data: { values: rows }, encoding,
    layer: [
      ...(x === "head" ? [{ transform: [of("ours"), { filter: "datum.low !== null" }], mark: { ...quiet, type: "rule", opacity: 0.5 }, encoding: toEnds }] : bands),
      ...lines,
      { transform: [of("ours")], mark: { ...quiet, type: "point", filled: true, size: 38, opacity: 1 } },
      { transform: [{ filter: "datum.run !== ''" }], mark: { ...quiet, type: "point", filled: true, size: 18, opacity: 0.55 } },
      { transform: [of("published")], mark: { ...quiet, type: "point", shape: "diamond", filled: true, size: 75, opacity: 1, stroke: "var(--ink)", strokeWidth: 0.7 } },
      { mark: { type: "point", filled: true, size: 260, opacity: 0, clip: true }, encoding: { tooltip } },
    ],
  };
}

function mapSpec(cells, { domain, colours, column, layers, columns }) {
  const size = Math.max(9, Math.min(26, 320 / Math.max(layers, columns), (innerWidth - 150) / columns));
  return {
    width: columns * size, height: layers * size, data: { values: cells },
    mark: { type: "rect", stroke: "var(--card)", strokeWidth: 0.5, cursor: "pointer" },
    encoding: {
      x: { field: "column", type: "ordinal", title: column, axis: { labelAngle: 0, labelOverlap: true } },
      y: { field: "layer", type: "ordinal", title: "layer", axis: { labelOverlap: true } },
      color: { field: "value", type: "quantitative", title: null, scale: { domain, range: colours }, legend: { gradientLength: Math.min(layers * size, 140), gradientThickness: 10, format: ".2~g" } },
      tooltip: ["Layer", column === "head" ? "Head" : "Other layer", "Value", "Interval", "Replicates"].map(field => ({ field, type: "nominal" })),
    },
  };
}

const VERDICT_COLOURS = Object.keys(VERDICTS).map(verdict => `var(--${verdict})`);
const claimKey = claims => h("p", { class: "key" }, "● ours, in the colour of its verdict, with ", term("brackets", "interval"), claims.some(one => one.published) ? " · ◇ published" : "", " · shaded: where the claim holds");

function claimSpec(cases) {
  const known = value => value !== null && value !== undefined, [least, most] = cases[0].criterion;
  const core = [least, most, ...cases.flatMap(one => [one.ours, one.published?.[0]])].filter(known);
  const [low, high] = reach(core, cases.flatMap(one => [one.low, one.high, ...(one.published ?? [])]).filter(known));
  const clipped = value => Math.max(low, Math.min(high, value));
  const ours = cases.filter(one => one.ours !== null).map(one => ({ what: one.case, value: one.ours, from: clipped(one.low ?? one.ours), to: clipped(one.high ?? one.ours),
    verdict: one.verdict, Case: one.claim, Ours: interval(one.ours, one.low, one.high), Published: one.published_value || "none", Verdict: VERDICTS[one.verdict][2] }));
  const published = cases.filter(one => one.published).map(one => ({ what: one.case, value: one.published[0], from: clipped(one.published[1]), to: clipped(one.published[2]),
    Case: one.claim, Ours: interval(one.ours, one.low, one.high) || "none", Published: one.published_value, Verdict: VERDICTS[one.verdict][2] }));
  const x = { type: "quantitative", scale: { domain: [low, high], nice: false, zero: false }, title: null, axis: { grid: false, tickCount: 5 } };
  const y = { field: "what", type: "nominal", sort: cases.map(one => one.case), title: null, axis: { ticks: false, domain: false, minExtent: 40, labelLimit: data.compared ? 240 : 150 } };
  const tooltip = ["Case", "Ours", "Published", "Verdict"].map(field => ({ field, type: "nominal" }));
  return {
    width: "container", autosize: { type: "fit-x", contains: "padding" }, height: Math.max(34, 20 * cases.length),
    layer: [
      { data: { values: [{ from: least === null ? low : clipped(least), to: most === null ? high : clipped(most) }] }, mark: { type: "rect", color: "var(--holds)", opacity: 0.14 },
        encoding: { x: { ...x, field: "from" }, x2: { field: "to" } } },
      { data: { values: [...published, ...ours] }, mark: { type: "rule", strokeWidth: 1.5, color: "var(--soft)" }, encoding: { x: { ...x, field: "from" }, x2: { field: "to" }, y } },
      { data: { values: published }, mark: { type: "point", shape: "diamond", filled: true, fill: "var(--card)", stroke: "var(--ink)", strokeWidth: 1.3, size: 75, opacity: 1 }, encoding: { x: { ...x, field: "value" }, y, tooltip } },
      { data: { values: ours }, mark: { type: "point", filled: true, size: 85, opacity: 1, stroke: "var(--ink)", strokeWidth: 0.6 }, encoding: { x: { ...x, field: "value" }, y, tooltip,
        color: { field: "verdict", type: "nominal", legend: null, scale: { domain: Object.keys(VERDICTS), range: VERDICT_COLOURS } } } },
    ].filter(layer => layer.data.values.length), // a mark without data has no name to be read
  };
}

function numbersTable(heads, rows) {
  const table = h("details", {}, h("summary", {}, "As a table"));
  table.addEventListener("toggle", () => {
    if (table.open && table.children.length < 2)
      table.append(h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Numbers" }, h("table", {},
        h("thead", {}, h("tr", {}, heads.map(head => h("th", { scope: "col" }, head)))),
        h("tbody", {}, rows().map(row => h("tr", {}, row.map(cell => h("td", { class: "number" }, cell))))))));
  });
  return table;
}

// A figure's numbers without curves: a list of which a reader chooses.
function numbersList({ heads, rows }, names) {
  const published = rows.some(row => row[2] !== null), body = h("tbody"), count = h("p", { class: "soft small", role: "status" }), chosen = heads.map(() => "");
  const cell = (name, text) => h("td", { class: "number", "data-head": `${name} ` }, text || "–");
  const redraw = () => {
    const kept = rows.filter(([cells]) => chosen.every((value, k) => !value || cells[k] === value));
    count.textContent = `${many(kept.length, "row")} of ${rows.length}`;
    body.replaceChildren(...kept.map(([cells, sides, theirs]) => h("tr", {}, cells.map(text => h("td", {}, text)), sides.map((side, k) => cell(names[k], side ? interval(...side) : "")), published ? cell("Published", number(theirs)) : null)));
  };
  const choices = heads.map((head, k) => [head, k, [...new Set(rows.map(([cells]) => cells[k]))].filter(Boolean)]).filter(([, , values]) => values.length > 1);
  redraw();
  return h("div", { class: "panel" },
    h("div", { class: "choices" }, choices.map(([head, k, values]) => h("label", { class: "choice" }, head, h("select", { onchange: event => { chosen[k] = event.target.value; redraw(); } },
      h("option", { value: "" }, "All"), values.map(value => h("option", { value }, value)))))),
    count, h("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Numbers" }, h("table", { class: "listed" },
      h("thead", {}, h("tr", {}, heads.map(head => h("th", { scope: "col" }, head)), [...names, ...(published ? ["Published"] : [])].map(name => h("th", { scope: "col", class: "number" }, name)))), body)));
}

// A figure's numbers: choices, models on and off, lines or maps.
const X = { layer: "layer", position: "position, as the figure counts it", head: "head" };
const titleOf = (x, values) => x === "layer" && Math.min(...values) === 0 ? "layer (0 = embeddings)" : X[x];

const FIRST = 10; // where a row's choices begin
const BANDED = 3; // replicates, from which on figures draw an interval
// What is drawn around a mean: as in the figures, which a page of two models alone has not, or always one of SPREADS.
let spread = alone ? "intervals" : "";
const SPREADS = { "": "as in the figures", intervals: "intervals", replicates: "replicates" };

// Rows of means as they are drawn: with their intervals, or with a row for each of several replicates.
function spreadOut(rows) {
  return rows.flatMap(row => {
    if (row.role !== OURS || spread === "intervals" || (!spread && row.n >= BANDED)) return [row];
    const alone = { ...row, low: null, high: null };
    return [alone, ...row.each.map(value => ({ ...alone, value, run: "replicate", What: "replicate", Value: number(value), Interval: "none", Replicates: "" }))];
  });
}

function spreadChoice(rows, redraw) {
  if (rows.every(row => (alone || row.low === null) && !row.each?.length)) return null;
  return h("label", { class: "choice" }, "Around a mean", h("select", { "data-key": "spread", onchange: event => { spread = event.target.value; redraw(); document.querySelector('[data-key="spread"]')?.focus(); } },
    Object.entries(SPREADS).map(([value, text]) => h("option", { value, selected: value === spread }, text))));
}

// Of how many layers a row's layer is (`of`), and where it stands as a share of the depth (`place`: [layer, of how many]).
// A paper's numbers are of its own layers.
function depthsOf(chart, modelOf) {
  const ours = chart.rows.filter(row => row[1] !== PUBLISHED);
  const deepest = new Map([...Map.groupBy(ours, modelOf)].map(([model, rows]) => [model, Math.max(...rows.map(row => row[2]))])), most = Math.max(...deepest.values());
  const of = row => row[1] === PUBLISHED && chart.layers ? chart.layers : deepest.get(modelOf(row)) ?? most;
  const place = row => [row[2], of(row)];
  return { of, place, differ: rows => chart.x === "layer" && new Set(rows.map(of)).size > 1 };
}

// A chart's row as a point of a line. `place` is a layer and of how many, where it stands by its share of the depth.
const pointOf = (row, { line, what = line, model = line, mine, axis, place, null_ = "" }) => ({
  line, meaning: [null_ || "ours", "published", "beside"][row[1]], what: `${what} ${row.slice(FIRST)}`, role: row[1], run: row[8], value: row[4], low: row[5], high: row[6], n: row[7], each: row[9], x: place ? place[0] / place[1] : row[2],
  Model: model, What: [[mine, "published", "null or baseline"][row[1]], row[8]].filter(Boolean).join(", "), [axis]: place ? `layer ${place[0]} of ${place[1]}` : row[2],
  Value: number(row[4]), Interval: row[5] === null ? "none" : `${number(row[5])} to ${number(row[6])}`, Replicates: row[7] || "",
});

// The ends of a map's colours: equal cells are as pale as no change.
function spanOf(values, alike) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return least < most ? [least, most] : alike ? [most - 1, most] : [least, least + 1];
}

// Rows of a chart as cells of a map, and how these look.
const cellOf = row => ({ layer: row[2], column: row[3], value: row[4], low: row[5], high: row[6], n: row[7] });
function lookOf(chart, rows) {
  const values = rows.map(row => row[4]), range = spanOf(values, chart.alike), diverging = range[0] < 0 && range[1] > 0, most = Math.max(-range[0], range[1]);
  return { column: chart.column === "head" ? "head" : "other layer", domain: diverging ? [-most, most] : range, colours: diverging ? LOSS_TO_GAIN : chart.alike ? BLUES.toReversed() : BLUES };
}

// What is chosen of a chart's choices, but for a hidden one, of which all are shown.
function chooser(chart, chosen, redraw, hidden = -1) {
  const box = h("div", { class: "choices" });
  const fits = (row, upto = chosen.length) => chosen.slice(0, upto).every((value, k) => k === hidden || row[FIRST + k] === -1 || row[FIRST + k] === value);
  const draw = () => box.replaceChildren(...[...chart.choices.map((choice, k) => {
    if (k === hidden) return null;
    // Only what goes with the choices before it.
    const there = choice.values.map((_, value) => value).filter(value => chart.rows.some(row => row[1] === OURS && fits(row, k) && row[FIRST + k] === value));
    if (!there.includes(chosen[k])) chosen[k] = there[0];
    if (there.length < 2) return null;
    return h("label", { class: "choice" }, choice.label, h("select", { "data-key": choice.key, onchange: event => {
      chosen[k] = Number(event.target.value); redraw(); box.querySelector(`[data-key="${choice.key}"]`)?.focus();
    } }, there.map(value => h("option", { value, selected: value === chosen[k] }, choice.words[value] || "none"))));
  }), chart.column ? null : spreadChoice(chart.rows.map(row => ({ low: row[5], each: row[9] })), redraw)].filter(Boolean));
  return { box, fits, draw };
}

function explorer(each) {
  const chart = each.chart, colours = coloursOfLines(chart.lines), depths = depthsOf(chart, row => row[0]);
  const off = new Set(), theirs = chart.rows.find(row => row[1] === PUBLISHED);
  const chosen = chart.choices.map((_, k) => Math.max(0, theirs?.[FIRST + k] ?? 0)), [models, body] = [h("fieldset", { class: "models" }), h("div")];
  const { box: choices, fits, draw: drawChoices } = chooser(chart, chosen, () => redraw());
  const redraw = () => { drawChoices(); drawBody(); };
  const drawBody = () => {
    const rows = chart.rows.filter(row => fits(row)), isCell = row => row[3] > 0 || chart.column === "ref_layer";
    const cells = chart.column ? rows.filter(isCell) : [], lines = rows.filter(row => !(chart.column && isCell(row)) && !(chart.column === "head" && row[2] === 0));
    const long = new Set(lines.filter(row => row[1] === OURS).map(row => row[2])).size > 1;
    body.replaceChildren(...[long ? lineView(lines) : null, cells.length ? mapView(cells) : null].filter(Boolean));
  };
  const lineView = rows => {
    const on = rows.filter(row => row[0] === -1 || !off.has(row[0]));
    const depth = depths.differ(on);
    const words = chosen.map((value, k) => chart.choices[k]?.words[value]).filter(Boolean).join(", ");
    const values = on.map(row => {
      const line = row[0] === -1 ? "" : chart.lines[row[0]].label;
      return pointOf(row, { line, null_: chart.lines[row[0]]?.null, what: row[0], model: line || (row[0] === -1 ? "" : each.title), mine: "ours", axis: depth ? "share of the depth" : X[chart.x], place: depth && depths.place(row) });
    });
    const canvas = h("div", { class: "chart" }), xTitle = depth ? "share of the depth" : titleOf(chart.x, on.map(row => row[2]));
    const drawn = spreadOut(values);
    if (values.length) later(canvas, () => draw(canvas, lineSpec(drawn, { x: chart.x, xTitle, names: chart.lines.map(one => one.label), colours }),
      `${each.title}${words ? ", " + words : ""}: ${chart.lines.map(one => one.label).join(", ")} by ${xTitle}`));
    else canvas.append(h("p", { class: "soft" }, "All models are off."));
    const toggles = chart.lines.length < 2 ? [] : [h("legend", {}, "Models"), ...chart.lines.map((one, k) => h("label", {},
      h("input", { type: "checkbox", checked: !off.has(k), onchange: event => { event.target.checked ? off.delete(k) : off.add(k); redraw(); models.querySelectorAll("input")[k].focus(); } }),
      h("span", { class: "swatch", style: `color:${colours[k]}` }), one.label)), h("label", {}, term("model", "names"))];
    models.replaceChildren(...toggles);
    const shown = chart.lines.findIndex((one, k) => !one.null && !off.has(k)), colourOf = key => colours[chart.lines.findIndex((one, k) => one.null === key && !off.has(k))];
    const entries = [["ours", ["ours, mean of ", term("replicate", "replicates")], colours[shown]], ...Object.entries(NULLS).map(([key, words]) => [key, term(key, words), colourOf(key)]),
      ["beside", [term("null", "null"), " or majority class"]], ["published", "◆ published", colours[shown]]];
    return h("div", {}, models, canvas, legend(drawn, entries, colours[shown]),
      numbersTable(["Model", "What", X[chart.x], "Value", "Interval", "Replicates"],
        () => on.map((row, k) => [values[k].Model, values[k].What, row[2], values[k].Value, values[k].Interval, values[k].Replicates])));
  };
  let model = 0;
  const mapView = all => {
    const box = h("div"), mapped = chart.lines.map((_, k) => k).filter(k => !chart.lines[k].null || all.some(row => row[0] === k));
    const show = () => {
      const rows = all.filter(row => row[0] === -1 || row[0] === model), look = lookOf(chart, rows);
      const maps = [[OURS, "Ours"], [PUBLISHED, "Published"]].map(([role, title]) => [title, rows.filter(row => row[1] === role)]).filter(([, cells]) => cells.length);
      box.replaceChildren(
        mapped.length > 1 ? h("label", { class: "choice", style: "margin-bottom:.6rem;width:fit-content" }, "Model", h("select", { "data-key": "map", onchange: event => { model = Number(event.target.value); show(); box.querySelector("select").focus(); } },
          mapped.map(k => h("option", { value: k, selected: k === model }, chart.lines[k].label)))) : "",
        h("div", { class: "maps" }, maps.map(([title, cells]) => headsMap(title, cells.map(cellOf), look,
          title === "Ours" && look.column === "head" ? chart.lines[model]?.name : null, each.title))));
    };
    show();
    return h("div", {}, box);
  };
  redraw();
  return h("div", { class: "panel" }, choices, body);
}

function headsMap(title, cells, look, model, about) {
  const canvas = h("div", { class: "chart" }), column = look.column;
  const values = cells.map(one => ({ ...one, Layer: one.layer, [column === "head" ? "Head" : "Other layer"]: one.column, Value: number(one.value),
    Interval: (one.low ?? null) === null ? "none" : `${number(one.low)} to ${number(one.high)}`, Replicates: one.n || "" }));
  const spec = mapSpec(values, { ...look, layers: new Set(cells.map(one => one.layer)).size, columns: new Set(cells.map(one => one.column)).size });
  const known = model && data.examples[model];
  later(canvas, async () => {
    const drawn = await draw(canvas, spec, `${about}, ${title}: values of ${cells.length} cells by layer and ${column}`);
    if (known) drawn?.view.addEventListener("click", (_, item) => { if (item?.datum?.layer) location.hash = headLink(model, item.datum.layer, item.datum.column); });
  });
  return h("figure", {}, h("figcaption", {}, title), canvas,
    known ? h("p", { class: "small" }, "Choose a cell, or ", h("a", { href: headLink(model, 1, 1) }, "look at its heads' attention"), ".") : null,
    numbersTable(["Layer", column === "head" ? "Head" : "Other layer", "Value"], () => values.map(one => [one.layer, one.column, one.Value])));
}

// ---- Two models

function modelsPage(query) {
  const pairs = Object.keys(data.pairs), split = pairs.map(pair => pair.split("_vs_"));
  if (!pairs.length) return [h("h1", { tabindex: "-1" }, "Two models"), h("p", {}, "No two models are compared here.")];
  const partners = name => split.flatMap(([one, other]) => one === name ? [other] : other === name ? [one] : []);
  const all = [...new Set(split.flat())];
  const known = pair => Object.keys(data.pairs[pair].measures).length, best = pairs.toSorted((one, other) => known(other) - known(one))[0];
  let a = all.includes(query.get("a")) ? query.get("a") : best.split("_vs_")[0];
  let b = partners(a).includes(query.get("b")) ? query.get("b") : partners(a)[0];
  const body = h("div"), first = h("select", { name: "a" }), second = h("select", { name: "b" });
  const options = (names, chosen) => names.map(name => h("option", { value: name, selected: name === chosen }, label(name) === name ? name : `${label(name)} (${name})`));
  const redraw = () => {
    query.set("a", a); query.set("b", b); remember(query);
    first.replaceChildren(...options(all, a)); second.replaceChildren(...options(partners(a), b));
    const pair = data.pairs[`${a}_vs_${b}`] ? `${a}_vs_${b}` : `${b}_vs_${a}`;
    body.replaceChildren(...twoModels(pair, redraw));
  };
  first.addEventListener("change", () => { a = first.value; b = partners(a).includes(b) ? b : partners(a)[0]; redraw(); });
  second.addEventListener("change", () => { b = second.value; redraw(); });
  redraw();
  if (alone) return [...found("How two models differ, layer by layer, by everything that was measured of both."), body];
  return [h("h1", { tabindex: "-1" }, "Two models"),
    h("p", { class: "wide soft" }, "How two models differ, layer by layer, by everything that was measured of both. ", term("model", "What a model's name means"), "."),
    demo ? worldNote() : null,
    h("div", { class: "filters" }, h("label", {}, "Model", first), h("label", {}, "compared with", second)), body];
}

function change(measure, row) { return measure.alike ? 1 - row[1] : row[1]; }

function twoModels(name, redraw) {
  const pair = data.pairs[name], [model, reference] = name.split("_vs_"), measures = Object.entries(pair.measures);
  const depth = Math.max(0, ...measures.flatMap(([, one]) => one.layers.map(row => row[0])));
  const heads = measures.filter(([, one]) => one.heads?.length), has = key => measures.some(([, one]) => one[key]);
  const several = measures.some(([, one]) => one.unit === "pretraining run" && one.layers.some(row => row[4].length > 1));
  const rows = measures.flatMap(([, one]) => rowsOfMeasure(one)), floors = [...new Set(measures.flatMap(([, one]) => floorsOf(one).map(([side]) => side)))];
  const entries = [["ours", namesOf(name), COMPARED], ["beside", term("null", "null")], ...Object.entries(NULLS).map(([key, words]) => [key, term(key, words), NULL_COLOURS[key]]),
    ...Object.entries(PARTS).map(([key, words], k) => [key, term("made", words), PART_COLOURS[k]]),
    ...floors.map(side => ["floor", term("floor", seedsOf(side)), FLOORS[Number(side === reference)]])];
  return [
    measures.length ? h("section", {}, h("h2", {}, "The profile of their difference"),
      h("p", { class: "soft small wide" }, "Each row is a measure; darker is more change, relative to the layer that changes most by this measure."), profile(measures, depth, name)) : null,
    measures.length ? h("section", {}, h("h2", {}, "Every measure, by layer"),
      beyondNulls(measures), legend(spreadOut(rows), entries, COMPARED), spreadChoice(rows.filter(row => row.meaning === "ours"), redraw),
      h("div", { class: "grid", style: "margin-top:.8rem" }, measures.map(([, one]) => measurePanel(one, depth, name)))) : null,
    heads.length ? h("section", {}, h("h2", {}, "Heads"), h("p", { class: "soft small" }, several ? `Of the first ${alone ? "replicate" : "pretraining run"}: heads of two ${alone ? "replicates" : "runs"} share a number, nothing more. ` : "", "Darker is more change."),
      h("div", { class: "maps panel" }, heads.map(([, one]) => {
        const cells = one.heads.flatMap((line, layer) => line.map((value, head) => ({ layer: layer + 1, column: head + 1, value, low: null, high: null, n: 0 }))).filter(cell => cell.value !== null);
        const values = cells.map(cell => cell.value);
        return headsMap(one.title, cells, { column: "head", domain: spanOf(values, one.alike), colours: one.alike ? BLUES.toReversed() : BLUES }, model, `${label(model)} and ${label(reference)}`);
      }))) : null,
    pair.texts ? markedTexts(pair.texts) : null,
    Object.keys(pair.scores).length ? h("section", {}, h("h2", {}, "Scores on the development set"), scoresTable(pair.scores)) : null,
    Object.keys(pair.trees).length || pair.probes.length ? h("section", {}, h("h2", {}, "Probes"), h("div", { class: "grid" },
      Object.entries(pair.trees).map(([kind, of]) => treePanel(kind, of)), pair.probes.length ? probePanel(pair.probes) : null)) : null,
    h("section", {}, h("h2", {}, "What made it"), h("dl", { class: "panel" }, [["Scale", pair.made.scale], ["Checkpoints", pair.made.checkpoint], ["Data", pair.made.data], ["Left out", pair.made.left_out ?? []]].filter(([, values]) => values.length).map(([key, values]) =>
      [h("dt", {}, key), h("dd", {}, values.length > 1 ? h("ul", {}, values.map(value => h("li", {}, value))) : values[0] ?? "")]), pair.made.tables.length ? [h("dt", {}, "Make them again"), h("dd", {}, h("ul", {}, pair.made.tables.map(path => h("li", {}, h("code", {}, `snakemake ${path}`)))))] : null)),
  ].filter(Boolean);
}

const ROUNDING = 1e-9; // of two equal models, a measure may be a little more than 0

// A text in lines of about so many letters.
function lines(text, letters) {
  return text.split(" ").reduce((found, word) => {
    const longer = [found.at(-1), word].filter(Boolean).join(" ");
    return longer.length > letters ? [...found, word] : [...found.slice(0, -1), longer];
  }, [""]).filter(Boolean);
}

function profile(measures, depth, name) {
  const narrow = innerWidth < 700, titles = Object.fromEntries(measures.map(([, one]) => [one.title, lines(one.title, narrow ? 18 : 48)]));
  const cells = measures.flatMap(([, one]) => {
    const most = Math.max(ROUNDING, ...one.layers.map(row => Math.abs(change(one, row))));
    return one.layers.map(row => ({ measure: one.title, layer: row[0], share: Math.abs(change(one, row)) / most, Value: interval(row[1], row[2], row[3]), Layer: row[0], Measure: one.title }));
  });
  const canvas = h("div", { class: "chart" });
  later(canvas, () => draw(canvas, {
    width: "container", autosize: { type: "fit-x", contains: "padding" }, height: Math.max(26, 14 * Math.max(...Object.values(titles).map(one => one.length)) + 4) * measures.length, data: { values: cells }, mark: { type: "rect", stroke: "var(--card)", strokeWidth: 2, cornerRadius: 3 },
    encoding: { x: { field: "layer", type: "ordinal", title: "layer (0 = embeddings)", axis: { labelAngle: 0 } },
      y: { field: "measure", type: "nominal", sort: null, title: null, axis: { labelExpr: `${JSON.stringify(titles)}[datum.label]`, labelLimit: 0, ticks: false, domain: false } },
      color: { field: "share", type: "quantitative", scale: { domain: [0, 1], range: BLUES }, legend: null }, tooltip: ["Measure", "Layer", "Value"].map(field => ({ field, type: "nominal" })) },
  }, `Change by layer and measure, ${name.replace("_vs_", " and ")}`));
  return h("div", { class: "panel" }, canvas, numbersTable(["Measure", "Layer", "Value"], () => cells.map(one => [one.measure, one.layer, one.Value])));
}

const COMPARED = "light-dark(#0072B2, #56B4E9)", FLOORS = ["light-dark(#D55E00, #f08138)", "light-dark(#009E73, #24b58b)"];
const PART_COLOURS = FLOORS; // they never meet on a page
const NULL_COLOURS = { noise: "var(--soft)", shuffled: "light-dark(#CC79A7, #d792b8)" };
const seedsOf = side => `two seeds of ${label(side)}`, namesOf = pair => pair.split("_vs_").map(label).join(" and ");

// Rows of a line, of which only what is compared (`ours`) has a band and dots of its replicates.
function rowsOf(of, line, meaning, inputs) {
  const ours = meaning === "ours";
  return of.layers.map(([x, value, low, high, each]) => ({ line, meaning, role: ours ? OURS : BESIDE, x, value, low: ours ? low : null, high: ours ? high : null, run: "", n: each.length, each: ours && each.length > 1 ? each : [], what: line,
    Model: line, What: inputs, layer: x, Value: number(value), Interval: low === null ? "none" : `${number(low)} to ${number(high)}`, Replicates: each.length > 1 ? `${each.length}: ${each.map(number).join(", ")}` : "" }));
}

// Rows of a null, whose band reaches from the smallest to the largest.
const rowsOfNull = (layers, key, inputs) => rowsOf({ layers }, NULLS[key], key, inputs).map((row, k) => ({ ...row, low: layers[k][2], high: layers[k][3], Interval: `${alone ? "draws" : "replicates"} from ${row.Interval}` }));

const floorsOf = one => Object.entries(one.floors ?? {}).filter(([, of]) => of);

const rowsOfMeasure = one => [...rowsOf(one, "compared", "ours", one.inputs), ...(one.null ? rowsOf(one.null, "null", "beside", one.inputs) : []),
  ...Object.entries(one.nulls ?? {}).flatMap(([key, layers]) => rowsOfNull(layers, key, one.inputs)),
  ...Object.entries(one.parts ?? {}).flatMap(([key, layers]) => rowsOf({ layers }, PARTS[key], key, one.inputs)), ...floorsOf(one).flatMap(([side, of]) => rowsOf(of, seedsOf(side), "floor", of.inputs))];

// Layers in words: 1, 2, 3, 5 are "layers 1 to 3 and 5".
function layersInWords(layers) {
  const runs = [];
  for (const layer of layers) runs.at(-1)?.[1] === layer - 1 ? runs.at(-1)[1] = layer : runs.push([layer, layer]);
  const words = runs.map(([first, last]) => first === last ? `${first}` : `${first} to ${last}`);
  return `${layers.length === 1 ? "layer" : "layers"} ${[words.slice(0, -1).join(", "), words.at(-1)].filter(Boolean).join(" and ")}`;
}

// A sentence for each null: the layers that changed more, by each measure that has it.
function beyondNulls(measures) {
  return Object.entries(NULLS).map(([key, words]) => {
    const tested = measures.map(([, one]) => one).filter(one => one.more?.[key]), [some, none] = [tested.filter(one => one.more[key].length), tested.filter(one => !one.more[key].length)];
    if (!tested.length) return null;
    const parts = some.map(one => `${one.title}, in ${layersInWords(one.more[key])}`);
    if (none.length) parts.push("in no layer is it shown" + (some.length ? ` by ${none.map(one => one.title).join(" and ")}` : ""));
    return h("p", { class: "wide" }, alone ? "More than every draw of " : "More than ", term(key, words), `: ${parts.join("; ")}.`);
  });
}

function measurePanel(one, depth, pair) {
  const rows = rowsOfMeasure(one), names = ["compared", "null", ...Object.values(NULLS), ...Object.values(PARTS), ...pair.split("_vs_").map(seedsOf)];
  const canvas = h("div", { class: "chart" }), all = new Set(rows.flatMap(row => [row.value, row.low ?? row.value, row.high ?? row.value, ...row.each]));
  if (all.size === 1) canvas.append(h("p", {}, `${number([...all][0])} in every layer.`));
  else later(canvas, () => {
    const spec = lineSpec(spreadOut(rows), { x: "layer", xTitle: "layer (0 = embeddings)", names, colours: [COMPARED, "var(--soft)", ...Object.values(NULL_COLOURS), ...PART_COLOURS, ...FLOORS], height: 170 });
    spec.encoding.x.scale.domain = [-0.3, depth + 0.3]; // one axis for all measures
    draw(canvas, spec, `${one.title} by layer${one.null ? ", beside its null" : ""}`);
  });
  return h("div", { class: "panel" }, h("h3", {}, one.title), one.inputs ? h("p", { class: "soft small", style: "margin:0" }, `on ${one.inputs}`) : null, canvas, valuesTable(rows, "What"));
}

const valuesTable = (rows, head) => numbersTable([head, "Layer", "Value", "Interval"], () => rows.map(row => [row.line, row.x, row.Value, row.Interval]));

function treePanel(kind, of) {
  const names = Object.keys(of).map(label), rows = Object.entries(of).flatMap(([name, layers]) => rowsOf({ layers }, label(name), "ours", "dev"));
  const canvas = h("div", { class: "chart" });
  later(canvas, () => draw(canvas, lineSpec(spreadOut(rows), { x: "layer", xTitle: "layer (0 = embeddings)", names, colours: coloursOf(Object.keys(of)), height: 170 }), `Structural probes of ${kind} by layer: ${names.join(" and ")}`));
  return h("div", { class: "panel" }, h("h3", {}, `Structural probes: ${kind}`), h("p", { class: "soft small", style: "margin:0" }, `Spearman correlation; ${names.join(" and ")}`), canvas, valuesTable(rows, "Model"));
}

function probePanel(probes) {
  const canvas = h("div", { class: "chart" }), rows = probes.map(([task, value, low, high]) => ({ task: label(task), value, low, high, Value: interval(value, low, high) }));
  const domain = reach([0, ...rows.map(row => row.value)], rows.flatMap(row => row.low === null ? [] : [row.low, row.high]));
  const x = { type: "quantitative", title: "difference of F1, in points", scale: { domain, nice: false, zero: false } }, y = { field: "task", type: "nominal", sort: null, title: null };
  later(canvas, () => draw(canvas, { width: "container", autosize: { type: "fit-x", contains: "padding" }, height: 20 * rows.length, data: { values: rows }, layer: [
    { data: { values: [{ zero: 0 }] }, mark: { type: "rule", color: "var(--soft)", strokeDash: [2, 3] }, encoding: { x: { ...x, field: "zero" } } },
    { mark: { type: "rule", color: "var(--soft)", strokeWidth: 2, clip: true }, encoding: { x: { ...x, field: "low" }, x2: { field: "high" }, y } },
    { mark: { type: "point", filled: true, size: 70, opacity: 1, color: "var(--ink)" }, encoding: { x: { ...x, field: "value" }, y, tooltip: [{ field: "task", title: "Task" }, { field: "Value" }] } }] },
  "Edge probes: difference of F1 by task"));
  return h("div", { class: "panel" }, h("h3", {}, "Edge probes, on a mix of all layers"), canvas, numbersTable(["Task", "Difference of F1"], () => rows.map(row => [row.task, row.Value])));
}

function scoresTable(scores) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Scores" }, h("table", {}, h("thead", {}, h("tr", {}, ["Model", "Score", "Mean", "Runs (pretraining run, seed)", "Majority class"].map(text => h("th", { scope: "col" }, text)))),
    h("tbody", {}, Object.entries(scores).map(([name, of]) => h("tr", {}, h("th", { scope: "row" }, label(name)), h("td", {}, of.score), h("td", {}, number(round(of.runs.reduce((sum, run) => sum + run[2], 0) / of.runs.length))),
      h("td", {}, of.runs.map(([init, seed, value]) => `${number(value)} (${init}, ${seed})`).join(", ")), h("td", {}, number(of.majority)))))));
}

// ---- A head

const headLink = (model, layer, head, input = 0) => `#/head?m=${encodeURIComponent(model)}&l=${layer}&h=${head}&i=${input}`;

// bytes: [layer][head][query][key], 255 is 1.
function attention(bytes, input, layer, head) { // [query][key]
  const n = input.tokens.length, start = ((layer - 1) * input.heads + head - 1) * n * n;
  return Array.from({ length: n }, (_, query) => bytes.subarray(start + query * n, start + (query + 1) * n));
}

function headPage(query) {
  const models = Object.keys(data.examples), model = models.includes(query.get("m")) ? query.get("m") : models[0];
  if (!model) return [h("h1", { tabindex: "-1" }, "A head"), h("p", {}, "No attention was kept for this page.")];
  const { inputs, parent, causal } = data.examples[model];
  const at = (key, most) => Math.max(1, Math.min(most, Number(query.get(key)) || 1)), which = Math.max(0, Math.min(inputs.length - 1, Number(query.get("i")) || 0));
  const input = inputs[which], layer = at("l", input.layers), head = at("h", input.heads);
  input.maps ??= Promise.all([input.before, input.after].map(unpacked));
  const both = input.maps.then(maps => maps.map(bytes => attention(bytes, input, layer, head)));
  const go = (m, l, k, i) => { location.replace(headLink(m, l, k, i)); };
  const choose = (words, name, options, chosen, then) => h("label", {}, words, h("select", { name, onchange: event => { focusAgain = name; then(event.target.value); } }, options.map(([value, text]) => h("option", { value, selected: String(value) === String(chosen) }, text))));
  const range = most => Array.from({ length: most }, (_, k) => [k + 1, k + 1]);
  const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  const maps = h("div", { class: "maps panel", tabindex: "0", role: "group", "aria-label": "Attention maps. Arrow keys go to the next layer or head", onkeydown: event => {
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault(); focusAgain = "maps";
    go(model, Math.max(1, Math.min(input.layers, layer + move[0])), Math.max(1, Math.min(input.heads, head + move[1])), which);
  } }, [`Before: ${label(parent)}`, `After: ${label(model)}`].map((title, which) => {
    const canvas = h("div", { class: "chart" });
    let rows = [];
    both.then(maps => { rows = maps[which]; });
    later(canvas, async () => draw(canvas, attentionSpec(input.tokens, await both, which, causal), `${title}: attention of layer ${layer}, head ${head}, from each token (rows) to each token (columns)`));
    return h("figure", {}, h("figcaption", {}, title), canvas, numbersTable(["From", "To", "Weight"], () => rows.flatMap((row, q) => [...row].map((weight, k) => [input.tokens[q], input.tokens[k], (weight / 255).toFixed(2)]))));
  }));
  return [
    h("h1", { tabindex: "-1" }, `Layer ${layer}, head ${head} of ${label(model)}`),
    h("p", { class: "wide soft" }, "Where this head looks in one example, before and after fine-tuning. Rows are the tokens that look, columns the tokens looked at; both maps have one scale. On the maps, arrow keys go to the next head or layer."),
    demo ? worldNote() : null,
    h("div", { class: "filters" }, choose("Model", "m", models.map(name => [name, label(name)]), model, value => go(value, layer, head, which)), choose("Layer", "l", range(input.layers), layer, value => go(model, value, head, which)),
      choose("Head", "h", range(input.heads), head, value => go(model, layer, value, which)),
      choose("Example", "i", inputs.map((one, k) => [k, `${k + 1}: ${one.tokens.slice(0, 7).join(" ")}…`]), which, value => go(model, layer, head, value))),
    maps,
    input.text ? h("p", { class: "soft small" }, `The example${input.cut ? ", cut to what is shown" : ""}: ${input.text.replace("\n", " / ")}`) : null,
  ];
}

function attentionSpec(tokens, both, which, causal) {
  const most = Math.max(...both.flat().map(row => Math.max(...row))) / 255; // one scale for both maps
  const values = both[which].flatMap((row, q) => [...row].slice(0, causal ? q + 1 : row.length).map((weight, k) => ({ q, k, weight: weight / 255, From: tokens[q], To: tokens[k], Weight: (weight / 255).toFixed(2) })));
  const names = { labelExpr: `${JSON.stringify(tokens)}[datum.value]`, labelLimit: 80, labelOverlap: false, ticks: false, domain: false, title: null }, size = Math.max(9, Math.min(22, 420 / tokens.length, (innerWidth - 170) / tokens.length));
  return { width: size * tokens.length, height: size * tokens.length, data: { values }, mark: { type: "rect", stroke: "var(--card)", strokeWidth: 0.4 }, encoding: {
    x: { field: "k", type: "ordinal", axis: { ...names, orient: "top", labelAngle: -60 } }, y: { field: "q", type: "ordinal", axis: names },
    color: { field: "weight", type: "quantitative", scale: { domain: [0, most || 1], range: BLUES }, legend: { title: null, gradientThickness: 10, gradientLength: 100 } }, tooltip: ["From", "To", "Weight"].map(field => ({ field, type: "nominal" })) } };
}

// ---- Routes

let focusAgain = null, lastPath = null;

function remember(query) { // The address holds what is chosen; no new entry in the history.
  const text = query.toString(), path = location.hash.split("?")[0] || "#/";
  try { history.replaceState(null, "", path + (text ? "?" + text : "")); } catch { /* where the page is shown inside another */ }
}

const notFound = name => [h("h1", { tabindex: "-1" }, "Not here"), h("p", {}, `There is no figure “${name}” on this page. `, h("a", { href: "#/" }, "All figures"))];

function route() {
  const [path, text] = (location.hash.slice(1) || "/").split("?"), query = new URLSearchParams(text ?? "");
  const [, view, ...rest] = path.split("/");
  for (const each of drawing) each.then(one => one.finalize()).catch(() => {});
  drawing = []; waiting = []; near.disconnect();
  document.querySelectorAll("[popover]").forEach(each => each.matches(":popover-open") && each.hidePopover());
  const views = data.compared ? { figure: () => comparedFigure(rest.map(decodeURIComponent).join("/")), claims: () => comparedClaims(query) } : { figure: () => figurePage(rest.map(decodeURIComponent).join("/")), models: () => modelsPage(query), head: () => headPage(query), claims: () => claimsPage(query) };
  main.replaceChildren(...(views[view] ?? (() => data.compared ? comparedOverview() : alone ? ownPage(query) : overview(query)))().flat(Infinity).filter(Boolean));
  for (const link of document.querySelectorAll("nav a")) link.getAttribute("href") === `#/${view && views[view] && view !== "figure" ? view : ""}` ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  const title = main.querySelector("h1");
  document.title = view ? `${title.textContent} · ${data.title}` : data.title;
  const again = focusAgain === "maps" ? main.querySelector(".maps") : focusAgain && main.querySelector(`[name="${focusAgain}"]`);
  if (again) again.focus();
  else if (lastPath !== null && lastPath !== path) { title.focus({ preventScroll: true }); scrollTo(0, 0); }
  focusAgain = null; lastPath = path;
}

const some = (entries, link) => Object.keys(entries).length ? [link] : [];
const links = alone ? some(data.pairs, ["#/models", "Two models"]) : [["#/", "Figures"], ...some(data.pairs, ["#/models", "Two models"]), ...some(data.examples, ["#/head", "Heads"]), ["#/claims", "Claims"]];
document.getElementById("top").append(h("a", { class: "brand", href: "#/" }, data.title), h("nav", { "aria-label": "Views" }, links.map(([href, text]) => h("a", { href }, text))));
document.getElementById("foot").append(alone ? `Checkpoints: ${data.checkpoints.join("; ")}.` : `Scale: ${data.scales.join(", ")}. Checkpoints: ${data.checkpoints.join("; ")}. Published numbers belong to their papers and are cited where they stand.`);
document.getElementById("skip").addEventListener("click", () => main.querySelector("h1").focus());
document.body.append(...popovers());
addEventListener("hashchange", route);
route();
