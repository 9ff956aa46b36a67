// A page of one's own models, which no figure shows. These are functions of the same module as page.js, which calls them.

// What every such page begins with: its title, what it is about, and the sentences of the report.
const found = about => [h("h1", { tabindex: "-1" }, data.title), h("p", { class: "wide soft" }, about),
  h("section", {}, h("h2", {}, "What was found"), h("ul", { class: "wide" }, data.report.map(sentence => h("li", {}, minus(sentence)))))];

const ownPage = query => data.weights ? weightsPage(query) : data.course ? coursePage() : modelsPage(query);

// ---- Texts, whose words have a background as strong as their change

const BESIDE_TEXTS = { noise: "by noise of the same size", seeds: "between two seeds", answer: "its answer" };
const ENDS = ["Change most", "Change least"];

function markedTexts({ layers, count, ends }) {
  const body = h("div"), texts = ends.flat(), last = layers.at(-1);
  let layer = layers.length - 1;
  const redraw = () => {
    const most = Math.max(...texts.flatMap(text => text.words.map(([, , changes]) => changes[layer] ?? 0)));
    const mark = (value, text) => h("span", { class: "marked", style: `--share:${most ? Math.round(100 * value / most) : 0}%`, title: `changes by ${number(value)}` }, text);
    const wordOf = ([, written, changes]) => [changes[layer] === null ? h("span", { title: "not measured" }, written) : mark(changes[layer], written), " "];
    const beside = one => Object.entries(BESIDE_TEXTS).filter(([key]) => key in one.beside).map(([key, words]) => `${words} ${number(one.beside[key])}`).join("; ");
    const item = one => h("li", {}, h("p", { class: "soft small", style: "margin:0" }, h("strong", {}, `Text ${one.position + 1}`), ` changes by ${number(one.changes[layer])}`,
      beside(one) && ` (in layer ${last}: ${beside(one)})`), [0, 1].map(segment => one.words.filter(word => word[0] === segment)).filter(words => words.length).map(words => h("p", { class: "text" }, words.map(wordOf))));
    body.replaceChildren(
      h("p", { class: "key" }, most ? [0, 0.25, 0.5, 0.75, 1].map(share => [mark(round(share * most), number(round(share * most))), " "]) : "Nothing changes here. ",
        `change of a word in layer ${layers[layer]}, from 0; the darkest is the largest of the words shown here in this layer`),
      ...ends.map((end, k) => h("div", {}, h("h3", { style: "margin-top:1rem" }, ends.length > 1 ? ENDS[k] : "All texts, from most to least"), h("ul", { class: "texts" }, end.map(item)))),
      numbersTable(["Text", "Word", "Change"], () => texts.flatMap(one => one.words.map(([, written, changes]) => [one.position + 1, written, number(changes[layer])]))));
  };
  redraw();
  return h("section", {}, h("h2", {}, "Texts and their words"),
    h("p", { class: "soft small wide" }, `The change of a state is 1 minus its cosine with what it was, less what all states have in common: 0 is no change. A text's is the mean over its tokens. Of ${many(count, "text")}, ` +
      `these change most and least in layer ${last}; texts.tsv has all.`,
      texts.some(one => one.words.some(([, , changes]) => changes[layer] === null)) ? " Words without a tint have no token that is measured: the first of a text is not, nor what lies behind a cut." : ""),
    h("div", { class: "panel" }, h("label", { class: "choice" }, "Layer", h("select", { name: "layer", onchange: event => { layer = Number(event.target.value); redraw(); } },
      layers.map((name, k) => h("option", { value: k, selected: k === layer }, name)))), body));
}

// ---- Weights

const OF_TENSORS = { tensor: "Tensor", layer: "Layer", kind: "Kind", norm: "Relative norm", change: "Of the change", size: "Before", rank90: "Rank of 90 %", cosine: "Cosine" };
const WORDS_OF_TENSORS = ["tensor", "kind"];

function weightsPage(query) {
  const { columns, tensors, cells, third } = data.weights, body = h("tbody"), count = h("p", { class: "soft small", role: "status" });
  const at = key => columns.indexOf(key), distinct = key => [...new Set(tensors.map(row => row[at(key)]))], shown = Object.keys(OF_TENSORS).filter(key => columns.includes(key));
  const written = { layer: value => value ?? "head", norm: value => value === null ? "∞" : number(round(value)), rank90: (value, row) => value === null ? "" : `${value} of ${row[at("ranks")]}` };
  const cell = (key, row, value = row[at(key)]) => WORDS_OF_TENSORS.includes(key) ? h("td", {}, value) : h("td", { class: "number", "data-head": `${OF_TENSORS[key]} ` }, key in written ? written[key](value, row) : value === null ? "" : number(round(value)));
  const { heads, sorted } = sortable(query, shown.map(key => [key, OF_TENSORS[key], row => row[at(key)], WORDS_OF_TENSORS.includes(key) ? null : "number"]), () => drawRows());
  const drawRows = () => {
    const rows = tensors.filter(row => (!query.get("k") || row[at("kind")] === query.get("k")) && (!query.get("l") || String(row[at("layer")] ?? "head") === query.get("l")) && words(query).every(word => row[at("tensor")].toLowerCase().includes(word)));
    count.replaceChildren(...left(query, ["l", "k", "q"], `${many(rows.length, "tensor")} of ${tensors.length}`));
    body.replaceChildren(...sorted(rows).map(row => h("tr", {}, shown.map(key => cell(key, row)))));
  };
  const set = setter(query, drawRows);
  drawRows();
  return [
    ...found("How the weights of two models differ, tensor by tensor, without running them."),
    h("section", {}, h("h2", {}, "By layer and kind"), h("p", { class: "soft small wide" }, "The norm of the change relative to that of the weights before, of all tensors of a kind in a layer. Darker is more change, on a logarithmic scale, and no tint is none; layer 0 is the embeddings, and head is what lies beyond the layers."), weightsMap(cells)),
    h("section", {}, h("h2", {}, "Every tensor"), h("p", { class: "soft small wide" }, "Norms of the change and of the tensor before, their quotient, and the fewest directions that hold 90 % of the squared change.", third ? ` The cosine is that with the change of ${third}.` : ""),
      h("div", { class: "filters" }, choiceOf(query, set, "l", "Layer", distinct("layer").map(layer => [String(layer ?? "head"), layer ?? "head"])), choiceOf(query, set, "k", "Kind", distinct("kind").map(kind => [kind, kind])), searchOf(query, set, "query, bias, …")), count,
      h("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Tensors" }, h("table", { class: "listed" }, h("thead", {}, h("tr", {}, heads)), body))),
  ];
}

function weightsMap(cells) {
  const canvas = h("div", { class: "chart" }), layers = [...new Set(cells.map(([layer]) => layer))], kinds = [...new Set(cells.map(([, kind]) => kind))];
  const values = cells.map(([layer, kind, value]) => ({ layer, kind, value, Layer: layer, Kind: kind, Norm: value === null ? "∞" : number(value) }));
  const positive = values.map(one => one.value).filter(value => value > 0), most = Math.max(...positive), ends = positive.length ? [Math.min(...positive, most / 10), most] : [0.1, 1], wide = Math.min(110, (innerWidth - 190) / kinds.length);
  later(canvas, () => draw(canvas, {
    width: kinds.length * wide, height: layers.length * 22, data: { values }, mark: { type: "rect", stroke: "var(--card)", strokeWidth: 2, cornerRadius: 3 },
    encoding: {
      x: { field: "kind", type: "nominal", sort: null, title: null, axis: { labelAngle: wide < 80 ? -40 : 0, orient: "top", ticks: false, domain: false } }, y: { field: "layer", type: "ordinal", sort: null, title: "layer" },
      color: { condition: { test: "!(datum.value > 0)", value: "transparent" }, field: "value", type: "quantitative", title: null, legend: { gradientThickness: 10, gradientLength: Math.min(140, layers.length * 22), format: ".1~g" },
        scale: { type: "log", range: BLUES, domain: ends } },
      tooltip: ["Layer", "Kind", "Norm"].map(field => ({ field, type: "nominal" })),
    },
  }, "Relative norm of the change by layer and kind of tensor"));
  return h("div", { class: "panel" }, canvas, numbersTable(["Layer", "Kind", "Relative norm"], () => values.map(one => [one.layer, one.kind, one.Norm])));
}

// ---- A training

const DRAWN_STEPS = 8; // as lines of a profile

function coursePage() {
  const { measures } = data.course;
  return [
    ...found("How far the checkpoints of a training are from one model, step by step."),
    h("section", {}, h("h2", {}, "Profiles at each step"), h("p", { class: "soft small wide" }, "One line a step: the later, the stronger. The band is the ", term("brackets", "interval"), " at the last step."), h("div", { class: "grid" }, measures.map(profileOfSteps))),
    h("section", {}, h("h2", {}, "Each layer over the steps"), h("p", { class: "soft small wide" }, "The dashed line is the step at which half of the layer's final change is made, with its interval; a layer that has not surely changed has none."), h("div", { class: "grid" }, measures.map(layerOverSteps))),
    measures.some(one => one.halves.length) ? h("section", {}, h("h2", {}, "Half of the change"), h("div", { class: "grid" }, measures.filter(one => one.halves.length).map(halvesPanel))) : null,
  ];
}

const distinctSteps = one => [...new Set(one.rows.map(([step]) => step))];

// A row of the table as a point of a line.
const pointOfStep = ([step, layer, value, low, high], line, x) => ({ line, meaning: "ours", role: OURS, run: "", each: [], n: 1, what: line, x, value, low, high, Model: "", What: `step ${step}, layer ${layer}`,
  step, layer, Value: number(value), Interval: low === null ? "none" : `${number(low)} to ${number(high)}`, Replicates: "" });

const stepsTable = rows => numbersTable(["Step", "Layer", "Value", "Interval"], () => rows.map(row => [row[0], row[1], number(row[2]), row[3] === null ? "none" : `${number(row[3])} to ${number(row[4])}`]));

// Some of many steps, the first and the last among them.
function someSteps(steps) {
  const most = Math.min(steps.length, DRAWN_STEPS);
  return most < 2 ? steps : Array.from({ length: most }, (_, k) => steps[Math.round(k * (steps.length - 1) / (most - 1))]);
}

function profileOfSteps(one) {
  const canvas = h("div", { class: "chart" }), steps = someSteps(distinctSteps(one)), last = steps.at(-1);
  const colours = steps.map((_, k) => `color-mix(in oklab, ${COMPARED} ${Math.round(25 + 75 * (k + 1) / steps.length)}%, var(--card))`);
  const rows = one.rows.filter(([step]) => steps.includes(step)).map(row => pointOfStep(row[0] === last ? row : [...row.slice(0, 3), null, null], `step ${row[0]}`, row[1]));
  later(canvas, () => draw(canvas, lineSpec(rows, { x: "layer", xTitle: "layer (0 = embeddings)", names: steps.map(step => `step ${step}`), colours, height: 190 }), `${one.title} by layer, at ${many(steps.length, "step")}`));
  return h("div", { class: "panel" }, h("h3", {}, one.title), canvas, h("p", { class: "key" }, steps.map((step, k) => [h("span", {}, h("span", { class: "swatch", style: `vertical-align:middle;margin-right:.3rem;color:${colours[k]}` }), `step ${step}`), " "])), stepsTable(one.rows));
}

function layerOverSteps(one) {
  const last = Math.max(...distinctSteps(one)), changed = row => Math.abs(Number(one.alike) - row[2]);
  const atEnd = one.rows.filter(([step]) => step === last), body = h("div");
  let layer = atEnd.toSorted((a, b) => changed(b) - changed(a))[0][1];
  const redraw = () => {
    const rows = one.rows.filter(row => row[1] === layer).map(row => pointOfStep(row, one.title, row[0])), half = one.halves.find(row => row[0] === layer), canvas = h("div", { class: "chart" });
    later(canvas, () => {
      const spec = lineSpec(rows, { x: "step", xTitle: "step", names: [one.title], colours: [COMPARED], height: 170 });
      spec.encoding.x.scale.domain = reach(rows.map(row => row.x), []);
      if (half) {
        const mark = { aria: false, color: "var(--soft)" }, data = { values: [{ step: half[1], from: half[2] ?? half[1], to: half[3] ?? half[1] }] }, x = { ...spec.encoding.x, field: "step" };
        spec.layer.unshift({ data, mark: { ...mark, type: "rect", opacity: 0.15, clip: true }, encoding: { x: { ...x, field: "from" }, x2: { field: "to" }, y: { value: 0 }, y2: { value: 170 }, color: { value: "var(--soft)" } } },
          { data, mark: { ...mark, type: "rule", strokeDash: [4, 3] }, encoding: { x, y: { value: 0 }, y2: { value: 170 }, color: { value: "var(--soft)" } } });
      }
      draw(canvas, spec, `${one.title} in layer ${layer} by step`);
    });
    body.replaceChildren(canvas, h("p", { class: "key" }, half ? `Half of the change at step ${interval(half[1], half[2], half[3])}` : "No half of the change"));
  };
  redraw();
  const layers = [...new Set(one.rows.map(row => row[1]))];
  return h("div", { class: "panel" }, h("h3", {}, one.title), h("label", { class: "choice" }, "Layer", h("select", { onchange: event => { layer = Number(event.target.value); redraw(); } },
    layers.map(value => h("option", { value, selected: value === layer }, value)))), body);
}

function halvesPanel(one) {
  const canvas = h("div", { class: "chart" }), rows = one.halves.map(([layer, step, low, high]) => ({ layer, step, low: low ?? step, high: high ?? step, Layer: layer, Step: interval(step, low, high) }));
  const steps = distinctSteps(one), x = { type: "quantitative", title: "step", scale: { domain: reach(steps, []), nice: false, zero: false } }, y = { field: "layer", type: "ordinal", sort: "descending", title: "layer" };
  later(canvas, () => draw(canvas, { width: "container", autosize: { type: "fit-x", contains: "padding" }, height: 20 * rows.length, data: { values: rows }, layer: [
    { mark: { type: "rule", color: "var(--soft)", strokeWidth: 2, clip: true, aria: false }, encoding: { x: { ...x, field: "low" }, x2: { field: "high" }, y } },
    { mark: { type: "point", filled: true, size: 70, opacity: 1, color: "var(--ink)" }, encoding: { x: { ...x, field: "step" }, y, tooltip: [{ field: "Layer" }, { field: "Step" }].map(one => ({ ...one, type: "nominal" })) } }] },
  `${one.title}: the step at which half of the change is made, by layer`));
  return h("div", { class: "panel" }, h("h3", {}, one.title), canvas, numbersTable(["Layer", "Step"], () => rows.map(row => [row.Layer, row.Step])));
}
