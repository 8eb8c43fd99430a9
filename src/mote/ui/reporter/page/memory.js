/* Memory: the arena over time, live bytes, what is live at one step, and a table of all RAM. */

report.section("memory", (root, { each }, page) => {
  const { el, svg, format } = page;
  const steps = each.steps.length;
  const total = each.arenas.reduce((sum, [, nbytes]) => sum + nbytes, 0);
  const starts = each.arenas.map((_, i) => each.arenas.slice(0, i).reduce((sum, [, nbytes]) => sum + nbytes, 0));
  const shortOf = (layer, name) => (page.layerOf(layer) ? `${layer} ${page.layerOf(layer).short}` : name);
  const holdings = each.holdings.map(([name, kind, layer, memory, stored, peak, colour], index) => ({
    index, name, kind, layer, memory, stored, peak, colour, boxes: [],
    label: kind === "tensor" ? shortOf(layer, name) : `${kind} of ${shortOf(layer, name)}`,
  }));
  const boxes = each.boxes.map(([index, offset, end, first, last, low, high]) => {
    const holding = holdings[index];
    const box = { holding, top: starts[holding.memory] + offset, bottom: starts[holding.memory] + end, offset, first, last, low, high };
    holding.boxes.push(box);
    return box;
  }).sort((a, b) => a.first - b.first || a.top - b.top);
  const liveAt = (step) => each.live[step + 1];
  const layerAt = (step) => page.layers[each.steps[step]];
  const state = { lo: -1, hi: steps + 1, step: each.peak_step, shown: null, layer: null, drag: null };

  /* Text. */
  const when = (step) => (step < 0 ? "before the run" : step >= steps ? "after the run" : `step ${format.number(step)}`);
  const span = (first, last) => first === last ? when(first)
    : `${first < 0 ? "from the start" : `from step ${format.number(first)}`} to ${last >= steps ? "the end" : `step ${format.number(last)}`}`;
  const rows = (box) => box.holding.kind !== "tensor" ? "" : box.low === box.high ? `row ${box.low}` : `rows ${box.low} to ${box.high}`;
  const said = (box) => [box.holding.kind === "tensor" ? box.holding.name : box.holding.label, rows(box), `${format.number(box.bottom - box.top)} bytes at offset ${format.number(box.offset)}`, span(box.first, box.last)].filter(Boolean);
  const atStep = (step) => {
    const layer = layerAt(step);
    return `${step < 0 || step >= steps ? when(step)[0].toUpperCase() + when(step).slice(1) : `Step ${format.number(step)} of ${format.number(steps)}`}` +
      `${layer ? `, layer ${layer.number} ${layer.short}` : ""}: ${format.number(liveAt(step))} bytes live`;
  };

  /* Bytes of each holding at a step, largest first; bytes that are written in place belong to the latest one. */
  function held(step) {
    const taken = [];
    const sums = new Map();
    for (const box of boxes.filter((b) => b.first <= step && step <= b.last).sort((a, b) => b.first - a.first || a.top - b.top)) {
      let free = [[box.top, box.bottom]];
      for (const [lo, hi] of taken) free = free.flatMap(([a, b]) => [[a, Math.min(b, lo)], [Math.max(a, hi), b]].filter(([x, y]) => x < y));
      taken.push(...free);
      const nbytes = free.reduce((sum, [a, b]) => sum + b - a, 0);
      if (nbytes) sums.set(box.holding, (sums.get(box.holding) || 0) + nbytes);
    }
    return [...sums].sort((a, b) => b[1] - a[1]);
  }

  /* The chart: boxes on a canvas, axes and text above them. */
  const canvas = el("canvas", { "aria-hidden": "true" });
  const place = el("div", { class: "arena" }, canvas);
  const tip = el("div", { class: "tip", hidden: true });
  place.append(tip);
  const size = { left: 62, top: 40, map: 300, strip: 9, gap: 34, live: 110 };
  let width = 0;
  const right = () => width - 12;
  const x = (step) => size.left + ((step - state.lo) / (state.hi - state.lo)) * (right() - size.left);
  const stepAt = (px) => Math.max(-1, Math.min(steps, Math.floor(state.lo + ((px - size.left) / (right() - size.left)) * (state.hi - state.lo))));
  const y = (nbytes) => size.top + (nbytes / Math.max(total, 1)) * size.map;
  const stripTop = () => size.top + size.map + 10;
  const liveTop = () => stripTop() + size.strip + size.gap;
  const liveY = (nbytes) => liveTop() + size.live * (1 - nbytes / Math.max(total, 1));
  const height = () => liveTop() + size.live + 42;

  const hatched = new Map();
  function paint(ink, holding) {
    if (holding.kind === "tensor") return holding.colour;
    if (!hatched.has(holding.colour)) {
      const tile = el("canvas", { width: 8, height: 8 });
      const stripes = tile.getContext("2d");
      stripes.fillStyle = holding.colour;
      stripes.fillRect(0, 0, 8, 8);
      stripes.strokeStyle = "#14181d99";
      stripes.lineWidth = 1.2;
      stripes.beginPath();
      for (const d of [-4, 0, 4, 8, 12]) { stripes.moveTo(d - 2, 10); stripes.lineTo(d + 10, -2); }
      stripes.stroke();
      hatched.set(holding.colour, ink.createPattern(tile, "repeat"));
    }
    return hatched.get(holding.colour);
  }

  function drawBoxes() {
    const dense = window.devicePixelRatio || 1;
    const bottom = stripTop() - size.top + size.strip;
    canvas.width = Math.round(width * dense);
    canvas.height = Math.round((size.top + bottom) * dense);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${size.top + bottom}px`;
    const ink = canvas.getContext("2d");
    ink.scale(dense, dense);
    ink.save();
    ink.beginPath();
    ink.rect(size.left, size.top, right() - size.left, bottom);
    ink.clip();
    ink.lineWidth = 0.5;
    ink.strokeStyle = "#14181d88";
    for (const box of boxes) {
      if (box.last + 1 < state.lo || box.first > state.hi) continue;
      const [left, top] = [x(box.first), y(box.top)];
      const [w, h] = [Math.max(x(box.last + 1) - left, 0.7), Math.max(y(box.bottom) - top, 0.7)];
      ink.fillStyle = paint(ink, box.holding);
      ink.fillRect(left, top, w, h);
      if (w > 3 && h > 3) ink.strokeRect(left, top, w, h);
    }
    const colours = new Map(holdings.filter((h) => h.kind === "tensor").map((h) => [h.layer, h.colour]));
    for (let step = Math.max(0, Math.floor(state.lo)); step < Math.min(steps, state.hi); step++) {
      const layer = layerAt(step);
      ink.fillStyle = (layer && colours.get(layer.number)) || "#9aa4ae";
      ink.fillRect(x(step), stripTop(), x(step + 1) - x(step) + 0.4, size.strip);
    }
    ink.restore();
    return ink;
  }

  /* Names in the largest rectangle of each holding that has room for them; none over another. */
  function labels(ink) {
    const placed = [];
    const texts = [];
    ink.font = "11px system-ui, sans-serif";
    const seen = (first, last) => [Math.max(x(first), size.left), Math.min(x(last + 1), right())];
    for (const holding of holdings) {
      let best = null;
      for (const [top, bottom, first, last] of rectangles(holding.boxes)) {
        const [left, end] = seen(first, last);
        const [w, h] = [end - left - 6, y(bottom) - y(top)];
        if (h < 13 || w < 8 || (best && best.w * best.h >= w * h)) continue;
        best = { w, h, x: (left + end) / 2, y: (y(top) + y(bottom)) / 2 };
      }
      if (!best) continue;
      const text = shortened(holding, (t) => ink.measureText(t).width <= best.w);
      if (!text) continue;
      const half = ink.measureText(text).width / 2 + 2;
      const box = [best.x - half, best.y - 7, best.x + half, best.y + 7];
      if (placed.some((p) => p[0] < box[2] && box[0] < p[2] && p[1] < box[3] && box[1] < p[3])) continue;
      placed.push(box);
      texts.push(svg("text", { x: best.x, y: best.y + 4, "text-anchor": "middle", class: "inside", style: `stroke: ${holding.colour}` }, text));
    }
    return texts;
  }

  /* Common rectangles of boxes that lie one after another: [top, bottom, first, last]. */
  function* rectangles(list) {
    const ordered = [...list].sort((a, b) => a.top - b.top);
    for (let i = 0; i < ordered.length; i++) {
      let { bottom, first, last } = ordered[i];
      yield [ordered[i].top, bottom, first, last];
      for (let k = i + 1; k < ordered.length; k++) {
        const box = ordered[k];
        if (box.top !== bottom || Math.max(first, box.first) > Math.min(last, box.last)) break;
        [bottom, first, last] = [box.bottom, Math.max(first, box.first), Math.min(last, box.last)];
        yield [ordered[i].top, bottom, first, last];
      }
    }
  }

  function shortened({ label, layer }, fits) {
    if (fits(label)) return label;
    for (let n = Math.min(label.length - 1, 60); n >= layer.length + 5; n--) if (fits(`${label.slice(0, n)}…`)) return `${label.slice(0, n)}…`;
    return fits(layer) ? layer : "";
  }

  let over = null;
  function draw() {
    width = Math.max(280, place.clientWidth);
    const ink = drawBoxes();
    const narrow = width < 520;
    const old = place.querySelector("svg");
    const chart = svg("svg", { viewBox: `0 0 ${width} ${height()}`, width, height: height(), role: "img", "aria-label": summary });
    const line = (x1, y1, x2, y2, kind) => chart.append(svg("line", { x1, y1, x2, y2, class: kind }));
    const text = (px, py, anchor, what, kind = "quiet") => chart.append(svg("text", { x: px, y: py, "text-anchor": anchor, class: kind }, what));
    text(0, 12, "start", "offset in the arena");
    each.arenas.forEach(([name, nbytes], i) => {
      const top = y(starts[i]);
      for (const value of roundValues(0, nbytes, Math.max(1, (7 * nbytes) / Math.max(total, 1)), true)) {
        if (i < each.arenas.length - 1 && y(starts[i] + value) > y(starts[i + 1]) - 9) continue;
        line(size.left - 4, y(starts[i] + value), size.left, y(starts[i] + value), "axis");
        text(size.left - 7, y(starts[i] + value) + 4, "end", format.bytes(value));
      }
      if (each.arenas.length > 1) {
        line(size.left, top, right(), top, "axis");
        text(right() - 4, top + 14, "end", name, "halo");
      }
    });
    line(size.left, size.top, size.left, size.top + size.map, "axis");
    chart.append(...labels(ink));
    text(0, stripTop() + size.strip, "start", "layer");

    /* Live bytes. */
    text(0, liveTop() - 10, "start", "live bytes");
    for (const value of roundValues(0, total, 3, true)) {
      line(size.left, liveY(value), right(), liveY(value), "grid");
      text(size.left - 7, liveY(value) + 4, "end", format.bytes(value));
    }
    const first = Math.max(-1, Math.floor(state.lo)), last = Math.min(steps, Math.ceil(state.hi) - 1);
    const points = [];
    for (let step = first; step <= last; step++) points.push(`${Math.max(x(step), size.left).toFixed(1)} ${liveY(liveAt(step)).toFixed(1)}`, `${Math.min(x(step + 1), right()).toFixed(1)} ${liveY(liveAt(step)).toFixed(1)}`);
    chart.append(svg("path", { class: "live", d: `M${size.left} ${liveY(0)} L${points.join(" L")} L${right()} ${liveY(0)} Z` }));
    line(size.left, liveTop(), size.left, liveY(0), "axis");
    line(size.left, liveY(0), right(), liveY(0), "axis");
    line(size.left, liveY(each.bound), right(), liveY(each.bound), "bound");
    const low = each.bound > total * 0.8;
    text(right() - 4, liveY(each.bound) + (low ? 14 : -5), "end", `proven bound ${format.bytes(each.bound)}${narrow ? "" : ": no plan takes less"}`, "halo");
    for (const value of roundValues(Math.max(0, state.lo), Math.min(steps, state.hi), Math.max(2, (right() - size.left) / 70))) {
      if (value !== Math.round(value) || x(value) > right()) continue;
      line(x(value), liveY(0), x(value), liveY(0) + 4, "axis");
      text(x(value), liveY(0) + 17, "middle", format.number(value));
    }
    text((size.left + right()) / 2, height() - 6, "middle", "step", "");

    /* The peak. */
    const peak = x(each.peak_step + 0.5);
    if (peak >= size.left && peak <= right()) {
      line(peak, size.top - 6, peak, liveY(0), "peak");
      const name = `peak ${format.number(each.peak)} B, ${when(each.peak_step)}`;
      text(Math.max(0, Math.min(peak + 4, right() - 7 * name.length)), 30, "start", name, "peak-name");
    }
    over = svg("g", {});
    chart.append(over);
    old ? old.replaceWith(chart) : place.append(chart);
    marks();
  }

  /* What moves: the step, the layer that is selected, the box under the pointer. */
  function marks() {
    const parts = [];
    const clip = (first, last) => [Math.max(x(first), size.left), Math.min(x(last + 1), right())];
    const outline = (box, kind) => {
      const [left, end] = clip(box.first, box.last);
      if (left < end) parts.push(svg("rect", { x: left, y: y(box.top), width: end - left, height: Math.max(y(box.bottom) - y(box.top), 1), class: kind }));
    };
    if (state.layer) {
      for (const [first, last] of runs(state.layer)) {
        const [left, end] = clip(first, last);
        if (left < end) parts.push(svg("rect", { x: left, y: stripTop() - 2, width: Math.max(end - left, 1), height: size.strip + 4, class: "chosen" }));
      }
      for (const holding of holdings) if (holding.layer === state.layer) for (const box of holding.boxes) outline(box, "chosen");
    }
    if (state.shown) outline(state.shown, "under");
    const [left, end] = clip(state.step, state.step);
    if (left <= end) parts.push(svg("rect", { x: left, y: size.top, width: Math.max(end - left, 1.5), height: liveY(0) - size.top, class: "cursor" }));
    over.replaceChildren(...parts);
  }

  function runs(number) {
    const list = [];
    each.steps.forEach((index, step) => {
      if (index < 0 || page.layers[index].number !== number) return;
      if (list.length && list[list.length - 1][1] === step - 1) list[list.length - 1][1] = step;
      else list.push([step, step]);
    });
    return list;
  }

  /* The step: a slider, and what is live there. */
  const slider = el("input", { type: "range", min: -1, max: steps, value: state.step, "aria-label": "Step", on: { input: () => go(Number(slider.value)) } });
  const now = el("p", { "aria-live": "polite", class: "now" });
  const list = el("div", {});
  function go(step) {
    state.step = Math.max(-1, Math.min(steps, step));
    if (state.step < state.lo || state.step + 1 > state.hi) look(state.step - (state.hi - state.lo) / 2, state.hi - state.lo);
    slider.value = state.step;
    slider.setAttribute("aria-valuetext", atStep(state.step));
    now.textContent = atStep(state.step);
    const live = held(state.step);
    const table = page.table("Live at this step", ["Tensor", "Bytes", "Share", "Written by", "Stored"], live.map(([holding, nbytes]) => ({
      layer: holding.layer || null,
      cells: [named(holding), format.number(nbytes), format.percent(nbytes / liveAt(state.step)), writer(holding), holding.stored],
    })));
    list.replaceChildren(table);
    for (const [i, row] of [...table.querySelectorAll("tbody tr")].entries()) {
      row.classList.toggle("selected", Boolean(row.dataset.layer) && row.dataset.layer === state.layer);
      const box = live[i][0].boxes.find((b) => b.first <= state.step && state.step <= b.last);
      for (const event of ["pointerenter", "focusin"]) row.addEventListener(event, () => show(box));
      for (const event of ["pointerleave", "focusout"]) row.addEventListener(event, () => show(null));
    }
    if (over) marks();
  }
  const named = (holding) => el("span", { class: "named", title: holding.name }, el("span", { class: `swatch ${holding.kind === "tensor" ? "" : "striped"}`, style: `--paint: ${holding.colour}` }), holding.label);
  const writer = (holding) => (holding.layer ? `layer ${holding.layer}` : "the caller");

  function look(lo, wide) {
    wide = Math.max(4, Math.min(wide, steps + 2));
    state.lo = Math.max(-1, Math.min(lo, steps + 1 - wide));
    state.hi = state.lo + wide;
    if (over) draw();
  }
  const zoom = (factor) => { const wide = Math.max(4, (state.hi - state.lo) * factor); look(state.step + 0.5 - wide / 2, wide); };
  const button = (name, label, call) => el("button", { "aria-label": label, on: { click: call } }, name);

  /* The pointer: a tooltip on boxes, a click for a step and a layer, a drag for a range of steps. */
  function hit(event) {
    const area = place.getBoundingClientRect();
    const [px, py] = [event.clientX - area.left, event.clientY - area.top];
    const step = stepAt(px);
    const nbytes = ((py - size.top) / size.map) * total;
    const inside = px >= size.left && px <= right();
    const box = inside ? boxes.filter((b) => b.first <= step && step <= b.last && b.top <= nbytes && nbytes < b.bottom).pop() : null;
    return { px, py, step, box: box || null, inside };
  }
  function show(box, lines = box && said(box), px = box && (x(Math.max(box.first, state.lo)) + x(Math.min(box.last + 1, state.hi))) / 2, py = box && y(box.bottom)) {
    state.shown = box;
    tip.hidden = !lines;
    if (lines) {
      tip.replaceChildren(...lines.map((text, i) => el(i ? "span" : "strong", {}, text)));
      tip.style.left = `${Math.max(0, Math.min(px + 12, width - tip.offsetWidth - 4))}px`;
      tip.style.top = `${py + 14}px`;
    }
    marks();
  }
  place.addEventListener("pointermove", (event) => {
    const { px, py, step, box, inside } = hit(event);
    if (state.drag !== null && Math.abs(px - state.drag) > 4) {
      const [lo, hi] = [stepAt(Math.min(px, state.drag)), stepAt(Math.max(px, state.drag))];
      show(null, [`zoom to steps ${Math.max(lo, 0)} to ${Math.min(hi, steps)}`], px, py);
      over.append(svg("rect", { x: Math.max(x(lo), size.left), y: size.top, width: x(hi + 1) - Math.max(x(lo), size.left), height: size.map, class: "range" }));
    } else if (box) show(box, said(box), px, py);
    else if (inside && py > size.top) show(null, [atStep(step)], px, py);
    else show(null);
  });
  place.addEventListener("pointerleave", () => { state.drag = null; show(null); });
  place.addEventListener("pointerdown", (event) => { if (event.button === 0) state.drag = hit(event).inside ? hit(event).px : null; });
  place.addEventListener("pointerup", (event) => {
    const { px, step, box, inside } = hit(event);
    const from = state.drag;
    state.drag = null;
    if (from === null || !inside) return;
    if (Math.abs(px - from) > 4) {
      const [lo, hi] = [stepAt(Math.min(px, from)), stepAt(Math.max(px, from))];
      look(lo, hi + 1 - lo);
      return;
    }
    const layer = box ? box.holding.layer : (layerAt(step) || {}).number;
    if (layer) page.select(layer);
    go(step);
  });

  const inSeveral = each.arenas.length > 1 ? ` in ${each.arenas.length} memories` : "";
  const summary = `Arena of ${format.number(total)} bytes${inSeveral} over ${steps} steps: at most ${format.number(each.peak)} bytes are live, ` +
    `${when(each.peak_step)}; the proven bound is ${format.number(each.bound)} bytes`;
  const gap = total <= each.bound ? "No plan of this model takes a smaller arena: it is as small as the proven bound."
    : `The arena takes ${format.number(total)} bytes, ${format.number(total - each.bound)} more than the proven bound; --ram min looks for the smallest one.`;
  root.append(
    el("p", {}, gap),
    el("div", { class: "tools" },
      el("label", { class: "step" }, "Step ", slider),
      button("+", "Zoom in", () => zoom(0.5)), button("−", "Zoom out", () => zoom(2)), button("All", "All steps", () => look(-1, steps + 2)),
      button("Peak", "Go to the peak", () => go(each.peak_step))),
    place,
    el("p", { class: "quiet" }, "A box is memory from the step that writes it to the last one that reads it; hatched: scratch and accumulators, in the colour of what they compute. Drag across steps to zoom."),
    now, list,
    el("h3", {}, "All RAM"),
    page.table("RAM by use", ["Use", "Bytes", el("div", { class: "text" }, "Source")], each.ram.map(([name, nbytes, source]) => [name, format.number(nbytes), el("div", { class: "text" }, source)])),
    el("details", {}, el("summary", {}, `All ${holdings.length} tensors, accumulators and scratch buffers`),
      page.table("Memory of each tensor", ["Tensor", "Most bytes live", "Lifetime", "Written by", "Stored", ...(each.arenas.length > 1 ? ["In"] : [])], holdings.map((h) => ({
        layer: h.layer || null,
        cells: [named(h), format.number(h.peak), span(Math.min(...h.boxes.map((b) => b.first)), Math.max(...h.boxes.map((b) => b.last))), writer(h), h.stored, ...(each.arenas.length > 1 ? [each.arenas[h.memory][0]] : [])],
      })))));
  draw();
  go(state.step);
  new ResizeObserver(() => { if (place.clientWidth && Math.max(280, place.clientWidth) !== width) draw(); }).observe(place);
  page.onSelect((number) => {
    state.layer = number;
    if (number) {
      const own = runs(number).flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, i) => first + i));
      if (own.length) go(own.reduce((best, step) => (liveAt(step) > liveAt(best) ? step : best)));
    } else go(state.step);
  });
}, { fluid: true });
