/* Accuracy on labelled data: scores, confusion, the worst samples, noise and precision of each layer. */

report.section("accuracy", (root, { whole }, page) => {
  const { el, svg, format } = page;
  const share = /^(top|auc|events)/.test(whole.metric);
  const value = (number) => (number === undefined || number === null ? "" : share && whole.metric !== "auc" ? `${(100 * number).toFixed(2)}%` : format.digits(number));
  const label = (answer) => (answer === null || answer === undefined ? "–" : Array.isArray(answer) ? answer.slice(0, 4).map((x) => format.digits(x)).join(", ")
    : whole.classes[answer] ?? `${answer}`);
  const equal = (score) => (score.of === undefined ? score.agreement === undefined || score.agreement === null ? "" : `same class for ${value(score.agreement)}`
    : `equal on ${format.number(score.equal)} of ${format.number(score.of)}`);

  root.append(
    el("p", {}, `Data: ${whole.data}.${whole.context ? ` Of the compiled C: ${whole.context}.` : ""} ${whole.better === "lower" ? "Lower is better." : ""}`),
    page.table("Scores", ["runtime", whole.metric, "correct", "outputs"], whole.scores.map((score) =>
      [score.name, value(score.value), score.correct === undefined || score.correct === null ? "" : `${format.number(score.correct)} of ${format.number(score.samples)}`, equal(score)])),
    ...whole.notes.map((note) => el("p", { class: "quiet" }, note)));
  if (whole.confusion) root.append(el("h3", {}, "Confusion"), confusion());
  if (whole.worst.length) root.append(el("h3", {}, "Worst samples"), samples(whole.worst));
  if (whole.differing.length) root.append(el("h3", {}, "Samples on which the two models differ most"), samples(whole.differing));
  if (whole.noise.length) root.append(el("h3", {}, "Noise of each layer"), noise());
  root.append(el("h3", {}, "Precision of each layer"), precision());

  /* A row for each label, a column for each answer, shaded by the share of the label's samples. */
  function confusion() {
    const cell = (count, right, row, column, total) => el("td", {
      class: count ? (right ? "right" : "some") : "", style: `--share:${count / total}`,
      "aria-label": `${whole.classes[row]} taken for ${whole.classes[column]}: ${count} of ${total}`,
    }, count ? format.number(count) : "");
    const many = whole.confusion.length > 40;
    if (many) {
      const pairs = whole.confusion.flatMap((row, i) => row.map((count, k) => [count, i, k])).filter(([count, i, k]) => count && i !== k);
      return page.table("Classes that are taken for another most often", ["label", "answer", "samples"],
        pairs.sort((a, b) => b[0] - a[0]).slice(0, 30).map(([count, i, k]) => [whole.classes[i], whole.classes[k], format.number(count)]));
    }
    return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Confusion matrix" },
      el("table", { class: "confusion" }, el("caption", { class: "quiet" }, "A row for each label, a column for each answer"),
        el("thead", {}, el("tr", {}, el("td", {}), whole.classes.map((name) => el("th", { scope: "col" }, name)), el("th", { scope: "col" }, "right"))),
        el("tbody", {}, whole.confusion.map((row, i) => {
          const total = row.reduce((a, b) => a + b, 0);
          return el("tr", {}, el("th", { scope: "row" }, whole.classes[i]), row.map((count, k) => cell(count, i === k, i, k, total)),
            el("td", {}, total ? `${((100 * row[i]) / total).toFixed(0)}%` : "–"));
        }))));
  }

  function samples(list) {
    return el("ul", { class: "samples" }, list.map((sample) => el("li", {},
      sample.picture ? image(sample) : null,
      sample.sound ? el("audio", { controls: true, preload: "none", src: `data:audio/wav;base64,${sample.sound}`, "aria-label": `Sound of ${sample.name}` }) : null,
      el("div", {}, el("strong", {}, label(sample.predicted)), ` for ${label(sample.label)}`),
      sample.other === null ? null : el("div", {}, `other model: ${label(sample.other)}`),
      el("div", { class: "quiet" }, sample.name))));
  }

  function image(sample) {
    const { width, height, channels, pixels } = sample.picture;
    const canvas = el("canvas", { width, height, role: "img", "aria-label": `Input ${sample.name}` });
    const bytes = page.bytes(pixels);
    const drawn = new ImageData(width, height);
    for (let i = 0; i < width * height; i++)
      for (let k = 0; k < 4; k++) drawn.data[4 * i + k] = k === 3 ? 255 : bytes[i * channels + (channels === 3 ? k : 0)];
    canvas.getContext("2d").putImageData(drawn, 0, 0);
    return canvas;
  }

  /* Signal to noise of each layer's output as bars; the layer that adds the most is marked. */
  function noise() {
    const finite = whole.noise.filter((layer) => layer.decibels !== null);
    const most = Math.max(10, ...finite.map((layer) => layer.decibels));
    const place = el("div", { class: "noise" });
    const name = (layer) => page.layerOf(layer.number)?.short ?? layer.name.split(/[/;]/).filter(Boolean).pop() ?? layer.name;
    const rows = whole.noise.map((layer) => ({ layer: layer.number, cells: [
      `${layer.number === null ? "" : `${layer.number} `}${name(layer)}`, layer.op, layer.decibels === null ? "equal" : layer.decibels.toFixed(1),
      bar(layer, most), layer.added === null ? "" : `${(100 * layer.added).toFixed(3)}%${layer.worst ? " (most)" : ""}`] }));
    place.append(page.table("Signal to noise of each layer's output against the other model",
      ["layer", "op", "signal to noise, dB", "", "noise added"], rows));
    return place;
  }

  function bar(layer, most) {
    const length = layer.decibels === null ? 100 : Math.max(0, (100 * layer.decibels) / most);
    return svg("svg", { width: 100, height: 12, viewBox: "0 0 100 12", "aria-hidden": "true" },
      svg("rect", { class: layer.worst ? "worst" : "bar", width: length, height: 12, rx: 2 }));
  }

  function precision() {
    return page.table("Types of each layer", ["layer", "op", "inputs", "weights", "outputs"], whole.precision.map((row) => {
      const layer = page.layerOf(row.number);
      return { layer: row.number, cells: [`${row.number} ${layer?.short ?? ""}`, layer?.op ?? "", row.inputs, row.weights, row.outputs] };
    }));
  }
});
