/* The plan as a graph: layers as cards, long networks as blocks that unfold, and all about the layer that is selected. */

const FAMILIES = [
  ["Convolution", "conv", /CONV/], ["Depthwise convolution", "depthwise", /DEPTHWISE/],
  ["Fully connected, recurrent", "dense", /FULLY|MATMUL|GEMM|LSTM|GRU|RNN|SVDF|ATTENTION/],
  ["Pooling, normalization", "pool", /POOL|MEAN|SUM|REDUCE|SOFTMAX|NORM/],
  ["Element-wise", "elementwise", /ADD|MUL|SUB|DIV|RELU|TANH|LOGISTIC|HARD|TABLE|QUANTIZE|ELEMENTWISE|MAXIMUM|MINIMUM|PRELU|GELU/],
];
const familyOf = (kind) => {
  const first = kind.split("+")[0];
  if (/DEPTHWISE/.test(first)) return FAMILIES[1];
  return FAMILIES.find(([, , pattern]) => pattern.test(first)) || ["Other", "other"];
};

report.section("graph", (root, { each, whole }, page) => {
  const { el, svg, format } = page;
  const CARD = { pad: 12, line: 17, least: 150, most: 236 };
  const HEAD = 34, MARGIN = 14, PORT = 6;
  const minus = (value) => String(value).replace("-", "−");
  const dims = (shape) => (shape.length > 1 && shape[0] === 1 ? shape.slice(1) : shape).join(" × ") || "scalar";
  const crossed = (text) => text.replace(/(\d)x(?=\d)/g, "$1 × ");
  const plural = (count, word) => `${format.number(count)} ${word}${count === 1 ? "" : "s"}`;
  const tensor = (t) => each.tensors[t];
  const measured = (number) => page.layerOf(number).cycles;
  const cost = (number) => measured(number) ?? (each.layers[number].options[0] || [])[2] ?? 0;
  const total = page.layers.reduce((sum, layer) => sum + cost(layer.number), 0) || 1;
  const unit = page.layers.some((layer) => layer.cycles !== null) ? "cycles" : each.unit;

  /* Blocks know their nodes, and nodes the blocks that they are in. */
  const inside = each.nodes.map(() => []);
  const blocks = [];
  function block(part, around) {
    if (typeof part === "number") { inside[part] = around; return { node: part, nodes: [part] }; }
    const own = { key: blocks.length };
    blocks.push(own);
    own.parts = part.parts.map((inner) => block(inner, [...around, own.key]));
    own.nodes = own.parts.flatMap((inner) => inner.nodes);
    own.layers = own.nodes.map((node) => each.nodes[node].layer).filter((number) => number !== undefined).map(page.layerOf);
    own.title = `${crossed(part.title)}: ${own.layers[0].number} to ${own.layers[own.layers.length - 1].number}`;
    return own;
  }
  const top = { parts: each.parts.map((part) => block(part, [])) };
  const open = new Set();
  const placeOf = new Map(each.nodes.map((node, i) => [node.layer, i]));

  /* Text as wide as it will be drawn, cut where it is too long. */
  const pen = document.createElement("canvas").getContext("2d");
  const measure = (text, bold) => { pen.font = `${bold ? "600 " : ""}12px system-ui, sans-serif`; return pen.measureText(text).width; };
  function fit(text, bold, most = CARD.most - 2 * CARD.pad) {
    if (measure(text, bold) <= most) return text;
    let end = text.length;
    while (end > 1 && measure(`${text.slice(0, end)}…`, bold) > most) end--;
    return `${text.slice(0, end)}…`;
  }

  /* Number and operators of a layer, with short names of operators where there are too many. */
  function named(layer) {
    const long = `${layer.number} ${layer.op}`;
    return measure(long, true) <= CARD.most - 2 * CARD.pad ? long : long.replace(/DEPTHWISE_CONV/g, "DEPTHWISE").replace(/_2D|FULLY_/g, "");
  }

  function linesOf(part) {
    if (part.parts) {
      const macs = part.layers.reduce((sum, layer) => sum + layer.macs, 0);
      const last = part.layers[part.layers.length - 1];
      return [part.title, [plural(part.layers.length, "layer"), macs ? `${format.count(macs)} MACs` : ""].filter(Boolean).join(" · "), `→ ${dims(last.shape)}`];
    }
    const node = each.nodes[part.node];
    if (node.layer !== undefined) {
      const layer = page.layerOf(node.layer);
      return [named(layer), `${dims(layer.shape)} ${layer.dtype}`, each.layers[layer.number].family];
    }
    const t = tensor(node.input ?? node.output);
    return [node.input === undefined ? "Output" : "Input", `${dims(t.shape)} ${t.type}`];
  }

  /* A box with its size; of an unfolded block, with what is inside. */
  function box(part) {
    if (part.parts && open.has(part.key)) return composed(part);
    const lines = linesOf(part).map((line, i) => fit(line, i === 0));
    const wide = Math.max(...lines.map((line, i) => measure(line, i === 0))) + 2 * CARD.pad;
    return { part, lines, width: Math.ceil(Math.max(CARD.least, wide)), height: CARD.line * lines.length + 15 };
  }

  function composed(part) {
    const boxes = part.parts.map(box);
    const wide = Math.max(...boxes.map((made) => (made.boxes ? 0 : made.width)));
    for (const made of boxes) if (!made.boxes) made.width = wide;
    const child = new Map(part.parts.flatMap((inner, i) => inner.nodes.map((node) => [node, i])));
    const ports = part === top ? 0 : 1;
    const joined = new Map();
    for (const [from, to] of each.edges) {
      const a = child.get(from), b = child.get(to);
      if (a === b) continue;
      const ends = [a === undefined ? 0 : a + ports, b === undefined ? boxes.length + ports : b + ports];
      joined.set(ends.join(), ends);
    }
    const sizes = boxes.map(({ width, height }) => ({ width, height }));
    const nodes = ports ? [{ width: PORT, height: 0, first: true }, ...sizes, { width: PORT, height: 0, last: true }] : sizes;
    const edges = [...joined.values()];
    const drawing = { ...layered(nodes, edges), edges };
    const head = ports ? HEAD : 0;
    const title = ports ? measure(part.title, true) + 48 : 0;
    const width = Math.max(drawing.width + 2 * MARGIN * ports, title);
    return { part, boxes, drawing, ports, head, width, height: drawing.height + head };
  }

  const rect = (x, y, width, height, kind, radius = 8) => svg("rect", { x, y, width, height, rx: radius, class: kind });
  const words = (x, y, said, kind) => svg("text", { x, y, class: kind }, said);

  function draw(made, x, y, into) {
    if (made.boxes) return drawOpen(made, x, y, into);
    const { part, lines, width, height } = made;
    const node = part.parts ? null : each.nodes[part.node];
    const number = node && node.layer;
    const group = svg("g", { transform: `translate(${x} ${y})`, class: `card ${part.parts ? "folded" : number === undefined ? "end" : familyOf(page.layerOf(number).op)[1]}` });
    if (part.parts) group.append(rect(6, 6, width, height, "behind"), rect(3, 3, width, height, "behind"));
    group.append(rect(0, 0, width, height, "face", number === undefined && !part.parts ? height / 2 : 8));
    if (number !== undefined && number !== null) group.append(rect(0, 8, 4, height - 16, "stripe", 2));
    const share = part.parts ? part.layers.reduce((sum, layer) => sum + cost(layer.number), 0) : number ? cost(number) : 0;
    if (share) group.append(rect(CARD.pad, height - 6, Math.max(1, ((width - 2 * CARD.pad) * share) / total), 2.5, "share", 1));
    lines.forEach((line, i) => group.append(words(node && number === undefined ? width / 2 : CARD.pad, 20 + i * CARD.line - (i && 1), line, i === 0 ? "name" : "quiet")));
    const said = linesOf(part).join(", ");
    if (part.parts) {
      group.dataset.block = part.key;
      button(group, `Unfold ${said}`, () => toggle(part, true), false);
    }
    else if (number !== undefined) {
      const layer = page.layerOf(number);
      fillIn(group, { "data-layer": number, tabindex: 0, role: "button", "aria-label": `Layer ${said}, ${layer.short}` });
      group.append(svg("title", {}, `${layer.number} ${layer.short}: ${format.percent(cost(number) / total)} of the ${unit}`));
    } else group.append(svg("title", {}, tensor(node.input ?? node.output).name));
    into.append(group);
  }

  const fillIn = (node, attributes) => { for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value); };

  function button(group, label, act, expanded) {
    fillIn(group, { tabindex: 0, role: "button", "aria-label": label, "aria-expanded": expanded, class: `${group.getAttribute("class")} press` });
    group.addEventListener("click", act);
    group.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); act(); }
    });
  }

  /* An unfolded block: lines from and to its outside go through the middle of its top and its bottom. */
  function drawOpen({ part, boxes, drawing, ports, head, width, height }, x, y, into) {
    const shift = x + (width - drawing.width) / 2;
    const [first, last] = [0, drawing.x.length - 1];
    const middle = width / 2 + x - shift;
    if (ports) into.append(rect(x, y, width, height, "around", 10));
    drawing.lines.forEach((points, i) => {
      const [from, to] = drawing.edges[i];
      const enters = ports && from === first, leaves = ports && to === last;
      const bent = points.map(([px, py]) => [(enters && py === 0) || (leaves && py === drawing.height) ? middle : px, py]);
      if (enters) bent.unshift([middle, -head]);
      into.append(svg("path", { d: curve(bent, shift, y + head), class: "edge", "marker-end": leaves ? null : "url(#graph-arrow)" }));
    });
    if (ports) {
      const wide = measure(part.title, true) + 32;
      const group = svg("g", { transform: `translate(${x + 8} ${y + 6})`, class: "header" },
        rect(0, 0, wide, 22, "face", 6), words(8, 15, "−", "name"), words(22, 15, part.title, "name"));
      button(group, `Fold ${part.title}`, () => toggle(part, false), true);
      into.append(group);
    }
    boxes.forEach((made, i) => draw(made, shift + drawing.x[i + ports] - made.width / 2, y + head + drawing.y[i + ports], into));
  }

  function curve(points, x, y) {
    const kept = points.filter(([px, py], i) => !i || px !== points[i - 1][0] || py !== points[i - 1][1]);
    return kept.map(([px, py], i) => {
      const at = `${round(px + x)} ${round(py + y)}`;
      if (!i) return `M${at}`;
      const [qx, qy] = kept[i - 1];
      const middle = round((qy + py) / 2 + y);
      return qx === px ? `L${at}` : `C${round(qx + x)} ${middle} ${round(px + x)} ${middle} ${at}`;
    }).join("");
  }
  const round = (value) => Math.round(value * 10) / 10;

  /* The drawing, in a frame that scrolls. */
  const canvas = svg("svg", { role: "group", "aria-label": `Graph of ${plural(page.layers.length, "layer")}` });
  const view = el("div", { class: "graph-view", "data-pannable": true, tabindex: 0, role: "region", "aria-label": "Drawing of the graph: arrow keys scroll, + and − zoom" }, canvas);
  let scale = 1;
  let chosen = false; /* the scale is the user's; else it is what makes the graph as wide as the frame */
  let size = [0, 0];

  function paint() {
    const made = composed(top);
    size = [Math.ceil(made.width + 2 * MARGIN + 8), Math.ceil(made.height + 2 * MARGIN + 8)];
    canvas.replaceChildren(svg("defs", {}, svg("marker", { id: "graph-arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
      svg("path", { d: "M0 0L8 4L0 8z", class: "arrow" }))));
    draw(made, MARGIN, MARGIN, canvas);
    scaleTo(chosen ? scale : Math.min(1, Math.max(0.5, (view.clientWidth || 600) / size[0])));
  }

  function zoom(to, ...at) {
    chosen = true;
    scaleTo(to, ...at);
  }

  function scaleTo(to, x = view.clientWidth / 2, y = view.clientHeight / 2) {
    const before = scale;
    scale = Math.min(4, Math.max(0.1, to));
    const at = [view.scrollLeft + x, view.scrollTop + y];
    fillIn(canvas, { viewBox: `0 0 ${size[0]} ${size[1]}`, width: size[0] * scale, height: size[1] * scale });
    view.scrollTo({ left: (at[0] * scale) / before - x, top: (at[1] * scale) / before - y, behavior: "instant" });
  }
  const fitted = () => zoom(Math.min(1, (view.clientWidth - 2) / size[0], (view.clientHeight - 2) / size[1]));

  function toggle(part, unfold) {
    if (unfold) open.add(part.key);
    else open.delete(part.key);
    paint();
    refresh();
    page.announce(`${part.title} ${unfold ? "unfolded" : "folded"}`);
    const first = unfold ? part.nodes.map((node) => each.nodes[node].layer).find((number) => number !== undefined && nodeOf(number)) : null;
    const focus = unfold ? (first === undefined ? null : nodeOf(first)) : [...canvas.querySelectorAll(".folded")].find((node) => node.getAttribute("aria-label").startsWith(`Unfold ${part.title}`));
    if (focus) { focus.focus({ preventScroll: true }); reveal(focus); }
  }

  const nodeOf = (number) => canvas.querySelector(`[data-layer="${CSS.escape(number)}"]`);

  /* Scrolls the frame, and only that, until a node is in it. */
  function reveal(node) {
    const a = node.getBoundingClientRect(), b = view.getBoundingClientRect();
    const over = (lo, hi, from, to) => (lo < from ? lo - from - 16 : hi > to ? hi - to + 16 : 0);
    view.scrollBy({ left: over(a.left, a.right, b.left, b.right), top: over(a.top, a.bottom, b.top, b.bottom), behavior: "instant" });
  }

  function refresh() {
    for (const node of canvas.querySelectorAll("[data-layer]")) {
      const chosen = node.dataset.layer === page.layer;
      node.classList.toggle("selected", chosen);
      chosen ? node.setAttribute("aria-current", "true") : node.removeAttribute("aria-current");
    }
    for (const card of canvas.querySelectorAll("[data-block]"))
      card.classList.toggle("holds", blocks[card.dataset.block].layers.some((layer) => layer.number === page.layer));
  }

  view.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const frame = view.getBoundingClientRect();
    zoom(scale * Math.exp(-event.deltaY / 300), event.clientX - frame.left, event.clientY - frame.top);
  }, { passive: false });
  view.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "=") zoom(scale * 1.25);
    else if (event.key === "-" || event.key === "−") zoom(scale / 1.25);
    else if (event.key === "0") zoom(1);
    else if (event.key.startsWith("Arrow") && event.target !== view) step(event);
  });

  /* Arrow keys go from one card to the next that lies in that direction. */
  function step(event) {
    const here = event.target.closest("[tabindex]").getBoundingClientRect();
    const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    let best = null, least = Infinity;
    for (const node of canvas.querySelectorAll("[tabindex]")) {
      const there = node.getBoundingClientRect();
      const x = there.left + there.width / 2 - here.left - here.width / 2, y = there.top + there.height / 2 - here.top - here.height / 2;
      const along = x * dx + y * dy, aside = Math.abs(x * dy) + Math.abs(y * dx);
      if (along > 4 && along + 3 * aside < least) { best = node; least = along + 3 * aside; }
    }
    event.preventDefault();
    if (best) { best.focus({ preventScroll: true }); reveal(best); }
  }

  /* A mouse drags the drawing; two fingers zoom it. */
  const fingers = new Map();
  const apart = () => { const [a, b] = [...fingers.values()]; return Math.hypot(a[0] - b[0], a[1] - b[1]); };
  view.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "touch") fingers.set(event.pointerId, [event.clientX, event.clientY]);
    else if (event.button === 0 && !event.target.closest("[tabindex]:not(.graph-view)")) {
      view.setPointerCapture(event.pointerId);
      fingers.set("mouse", [event.clientX, event.clientY]);
      view.classList.add("held");
    }
  });
  view.addEventListener("pointermove", (event) => {
    const id = event.pointerType === "touch" ? event.pointerId : "mouse";
    if (!fingers.has(id)) return;
    const before = id === "mouse" ? fingers.get(id) : fingers.size === 2 ? apart() : null;
    fingers.set(id, [event.clientX, event.clientY]);
    if (id === "mouse") view.scrollBy({ left: before[0] - event.clientX, top: before[1] - event.clientY, behavior: "instant" });
    else if (before) zoom((scale * apart()) / before);
  });
  for (const end of ["pointerup", "pointercancel"]) view.addEventListener(end, (event) => {
    fingers.delete(event.pointerType === "touch" ? event.pointerId : "mouse");
    view.classList.remove("held");
  });

  const press = (label, text, act) => el("button", { type: "button", "aria-label": label, on: { click: act } }, text);
  const folding = (all) => () => { open.clear(); if (all) blocks.forEach((own) => open.add(own.key)); paint(); refresh(); };
  const used = [...new Map(page.layers.map((layer) => familyOf(layer.op)).map((family) => [family[1], family])).values()];
  const panel = el("div", { class: "graph-detail" });
  root.append(
    el("div", { class: "graph-bar" },
      press("Zoom out", "−", () => zoom(scale / 1.25)), press("Zoom in", "+", () => zoom(scale * 1.25)),
      press("Zoom to the whole graph", "Fit", fitted), press("Zoom to natural size", "100%", () => zoom(1)),
      ...(blocks.length ? [press("Unfold all blocks", "Unfold all", folding(true)), press("Fold all blocks", "Fold all", folding(false))] : [])),
    el("ul", { class: "graph-legend" }, used.map(([name, key]) => el("li", {}, el("span", { class: `graph-swatch ${key}` }), name))),
    el("div", { class: "graph" }, view, panel));
  paint();

  /* All about a layer. */
  const chart = (key, ...parts) => el("figure", { class: "distribution", "data-tensor": key }, parts);

  /* A histogram; a bar that is far higher than the others is cut, and said. */
  function bars([lo, width, counts], quant, label) {
    if (counts.length === 1) return [el("div", { class: "quiet" }, `All are ${minus(lo)}.`)];
    const sum = counts.reduce((a, b) => a + b, 0) || 1;
    const [first, second] = [...counts].sort((a, b) => b - a);
    const high = second && first > 4 * second ? second * 1.25 : first || 1;
    const tall = first > high ? counts.indexOf(first) : -1;
    const step = 320 / counts.length;
    const d = counts.map((count, i) => (count ? `M${round(i * step)} 72v${-round(Math.max(1, (68 * Math.min(count, high)) / high))}h${round(Math.max(0.5, step - 0.6))}V72z` : "")).join("");
    const whole = Number.isInteger(width);
    const value = (code) => (quant ? `${minus(code)} (${minus(format.digits((code - quant.zero[0]) * quant.scale[0]))})` : minus(Number(code.toPrecision(4))));
    const end = lo + width * counts.length - (whole ? 1 : 0);
    return [
      svg("svg", { viewBox: "0 0 320 74", preserveAspectRatio: "none", class: "bars", role: "img", "aria-label": `${label} from ${value(lo)} to ${value(end)}` },
        svg("path", { d, class: "bar" }), tall >= 0 ? svg("path", { d: `M${round(tall * step - 2)} 8l${round(step + 4)} -4`, class: "break" }) : null, svg("path", { d: "M0 72.5H320", class: "axis" })),
      el("div", { class: "ends quiet" }, el("span", {}, value(lo)), el("span", {}, value(end))),
      tall >= 0 ? el("div", { class: "quiet" }, `The highest bar, at ${value(round(lo + tall * width))}, is cut: ${format.percent(first / sum)} of the values.`) : null];
  }

  /* The range of each channel as a vertical line. */
  function ranges(pairs, channels) {
    const lo = Math.min(0, ...pairs.map(([a]) => a)), hi = Math.max(0, ...pairs.map(([, b]) => b)) || 1;
    const y = (value) => round(46 - (44 * (value - lo)) / (hi - lo || 1));
    const step = 320 / pairs.length;
    return [
      svg("svg", { viewBox: "0 0 320 48", preserveAspectRatio: "none", class: "bars", role: "img", "aria-label": `Ranges of the weights of ${channels} channels, from ${lo} to ${hi}` },
        svg("path", { d: pairs.map(([a, b], i) => `M${round((i + 0.15) * step)} ${y(b)}h${round(step * 0.7)}V${round(y(a) + 0.5)}h${-round(step * 0.7)}z`).join(""), class: "bar range" }),
        svg("path", { d: `M0 ${y(0)}H320`, class: "axis" })),
      el("div", { class: "ends quiet" }, el("span", {}, `Channel 0`), el("span", {}, `${minus(lo)} to ${hi}`), el("span", {}, `${channels - 1}`))];
  }

  const scaleOf = (t) => (!t.scale ? "–" : t.scales > 1 ? `${format.number(t.scales)}: ${t.scale.map((s) => Number(s.toPrecision(2))).join(" to ")}` : String(Number(t.scale[0].toPrecision(4))));
  const brief = (name) => (name.length <= 22 ? name : `${name.slice(0, 5)}…${name.slice(-16)}`);
  const zeroOf = (t) => (!t.zero ? "–" : t.zero.length === 1 ? minus(t.zero[0]) : "various");
  const single = (t) => (t.scale && t.scales === 1 ? t : null);

  function tensors(operator) {
    const role = (t, i) => (i >= 0 ? (tensor(t).constant === undefined ? (tensor(t).state ? "state" : "input") : "constant") : "output");
    const rows = [...operator.inputs.map((t, i) => [t, i]), ...operator.outputs.map((t) => [t, -1])].filter(([t]) => tensor(t));
    return page.table(`Tensors of ${operator.name}`, ["Tensor", "Shape", "Type", "Scale", "Zero point"], rows.map(([t, i]) => [
      el("span", { class: "tensor-name", title: tensor(t).name }, el("span", { class: "quiet" }, role(t, i)), brief(tensor(t).name)),
      dims(tensor(t).shape), tensor(t).type, scaleOf(tensor(t)), zeroOf(tensor(t))]));
  }

  function constants(operator) {
    return operator.inputs.filter((t) => whole.constants[t]).map((t) => {
      const { histogram, count, channels, ranges: pairs, zeros } = whole.constants[t];
      return chart(t, el("figcaption", {}, `${channels ? "Weights" : "Constant"}: ${plural(count, "value")}, ${zeros ? `${format.percent(zeros)} zero` : "no zeros"}`,
        el("span", { class: "quiet tensor-name" }, tensor(t).name)),
        ...bars(histogram, single(tensor(t)), "Histogram of the constant"), ...(pairs ? ranges(pairs, channels) : []));
    });
  }

  function outputs(operator) {
    return operator.outputs.filter((t) => whole.activations[t]).map((t) => {
      const { histogram, low, high, saturated } = whole.activations[t];
      return chart(t, el("figcaption", {}, `Activations on ${plural(whole.samples, "sample")}${saturated === undefined ? "" : `, ${format.percent(saturated)} saturated`}`),
        ...bars(histogram, single(tensor(t)), "Histogram of the activations"),
        saturated === undefined ? null : el("div", { class: "quiet" }, `${format.percent(low)} at the lowest code, ${format.percent(high)} at the highest.`));
    });
  }

  function kernels(layer, known) {
    if (!known.options.length) return [el("p", {}, "Kernel ", el("code", {}, layer.kernel), ".")];
    const [[name, , price, , , , why]] = known.options;
    return [
      el("p", {}, el("code", {}, name), ` was chosen: ${why}. About ${format.number(price)} ${each.unit}.`),
      page.table(`Kernels for layer ${layer.number}`, ["Kernel", `≈ ${each.unit}`, "Constants", "Scratch", "Why"], known.options.map(([kernel, , at, flash, scratch, chosen, reason]) => [
        el("code", { class: chosen ? "chosen" : "" }, `${chosen ? "✓ " : ""}${kernel}`), format.number(at), format.bytes(flash), format.bytes(scratch), el("span", { class: "why" }, reason)]))];
  }

  /* A body of control flow as a drawing of its own, without layers to select. */
  function bodyOf({ title, nodes, edges }) {
    const boxes = nodes.map((node) => [node.kind, dims(node.shape)].map((line, i) => fit(line, i === 0)));
    const width = Math.max(110, ...boxes.flat().map((line) => measure(line, true) + 2 * CARD.pad));
    const drawing = layered(boxes.map(() => ({ width, height: 48 })), edges);
    const [w, h] = [drawing.width + 2 * MARGIN, drawing.height + 2 * MARGIN];
    const into = svg("svg", { viewBox: `0 0 ${w} ${h}`, width: w, height: h, role: "img", "aria-label": `${title}: ${plural(nodes.length, "node")}, ${nodes.map((node) => node.kind).join(", ")}` });
    for (const points of drawing.lines) into.append(svg("path", { d: curve(points, MARGIN, MARGIN), class: "edge", "marker-end": "url(#graph-arrow)" }));
    boxes.forEach((lines, i) => into.append(svg("g", { transform: `translate(${round(drawing.x[i] + MARGIN - width / 2)} ${round(drawing.y[i] + MARGIN)})`, class: nodes[i].name === undefined ? "card end" : `card ${familyOf(nodes[i].kind)[1]}` },
      rect(0, 0, width, 48, "face", nodes[i].name === undefined ? 24 : 8), nodes[i].name === undefined ? null : rect(0, 8, 4, 32, "stripe", 2),
      ...lines.map((line, k) => words(nodes[i].name === undefined ? width / 2 : CARD.pad, 20 + k * CARD.line, line, k ? "quiet" : "name")))));
    return [el("h4", {}, `Body: ${title}`), el("div", { class: "graph-view", "data-pannable": true, tabindex: 0, role: "region", "aria-label": `Drawing of the body: ${title}` }, into)];
  }

  function show(number) {
    const layer = page.layerOf(number);
    if (!layer) {
      panel.replaceChildren(el("p", { class: "quiet" }, "Select a layer to see its shapes, quantization, kernel, weights and activations. Bars at the foot of cards are shares of the ", unit, "."));
      return;
    }
    const known = each.layers[number];
    const several = known.operators.length > 1;
    panel.replaceChildren(
      el("h3", {}, `${layer.number} ${layer.op}`), el("p", { class: "quiet tensor-name" }, layer.name),
      el("dl", { class: "pairs" },
        ...pairs({ "Share of the cost": `${format.percent(cost(number) / total)}, ${format.number(cost(number))} ${unit}${measured(number) === null ? " (estimate)" : ""}`,
          MACs: format.number(layer.macs), Constants: format.bytes(layer.constants), Runs: known.runs === "whole" ? "whole, in one step" : `${known.runs === "sums" ? "adding up rows" : "by rows"}, in ${plural(known.steps, "step")}` })),
      ...known.operators.flatMap((operator) => [
        ...(several ? [el("h4", {}, operator.kind)] : []),
        el("dl", { class: "pairs" }, ...pairs(operator.attributes, crossed)), tensors(operator), ...constants(operator), ...outputs(operator)]),
      ...known.bodies.flatMap(bodyOf),
      el("h4", {}, "Kernel"), ...kernels(layer, known));
  }
  const pairs = (values, said = String) => Object.entries(values).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, said(value))));

  page.onSelect((number) => {
    const place = placeOf.get(number ?? undefined);
    if (number !== null && inside[place].some((key) => !open.has(key))) {
      inside[place].forEach((key) => open.add(key));
      paint();
    }
    refresh();
    show(number);
    if (number !== null) reveal(nodeOf(number));
  });
}, { fluid: true });
