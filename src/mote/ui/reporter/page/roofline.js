/* Roofline: MACs per cycle against MACs per byte, the roofs of the core and its memory, and what bounds each layer. */

report.section("roofline", (root, { each }, page) => {
  const { el, svg, format } = page;
  const kinds = ["multiplications", "loads and stores", "other instructions", "flash waits"];
  const shapes = {
    multiplications: (r) => `M${-r} 0A${r} ${r} 0 1 0 ${r} 0A${r} ${r} 0 1 0 ${-r} 0Z`,
    "loads and stores": (r) => `M${-r * 0.9} ${-r * 0.9}H${r * 0.9}V${r * 0.9}H${-r * 0.9}Z`,
    "other instructions": (r) => `M0 ${-r * 1.2}L${r * 1.2} 0L0 ${r * 1.2}L${-r * 1.2} 0Z`,
    "flash waits": (r) => `M0 ${-r * 1.2}L${r * 1.15} ${r * 0.9}H${-r * 1.15}Z`,
  };
  const total = each.points.reduce((sum, point) => sum + point[4], 0);
  const points = each.points.map(([number, macs, constants, activations, cycles, bound, sentence]) => {
    const layer = page.layerOf(number);
    const [intensity, speed] = [macs / Math.max(constants + activations, 1), macs / Math.max(cycles, 1)];
    const roof = Math.min(each.peak, each.load_bytes ? intensity * each.load_bytes : Infinity);
    return { layer: number, name: `${number} ${layer.short}`, macs, constants, activations, cycles, bound, sentence, intensity, speed, roof, share: cycles / Math.max(total, 1) };
  });
  const drawn = points.filter((point) => point.macs > 0 && point.cycles > 0);
  const two = (value) => (value >= 100 ? format.number(Math.round(value)) : Number(value.toPrecision(2)).toString());

  function chart(place) {
    const xs = drawn.map((point) => Math.log2(point.intensity)), ys = drawn.map((point) => Math.log2(point.speed));
    const corner = each.load_bytes ? Math.log2(each.peak / each.load_bytes) : 0;
    const x = { lo: Math.floor(Math.min(...xs, corner) - 0.6), hi: Math.ceil(Math.max(...xs, corner + 1) + 0.6), name: "MACs per byte loaded or stored", format: (v) => two(2 ** v) };
    const y = { lo: Math.floor(Math.min(...ys) - 0.4), hi: Math.max(Math.log2(each.peak), ...ys) + 0.9, name: "MACs per cycle", format: (v) => two(2 ** v) };
    const every = (axis, most) => { const all = []; const step = Math.max(1, Math.ceil((axis.hi - axis.lo) / most)); for (let v = axis.lo; v <= axis.hi; v += step) all.push(v); return all; };
    x.ticks = every(x, place.clientWidth / 60);
    y.ticks = every(y, 8);
    const frame = chartFrame(page, place, { height: 340, label: `Roofline of ${drawn.length} layers; the table below has the numbers`, x, y, left: 48, right: 20 });
    frame.root.setAttribute("role", "group");
    const add = (tag, attributes, ...children) => { const node = svg(tag, attributes, ...children); frame.root.append(node); return node; };
    const taken = [];
    const free = (box) => box[0] >= frame.left && box[2] <= frame.right && box[1] >= frame.top - 14 && box[3] <= frame.bottom &&
      !taken.some((t) => t[0] < box[2] && box[0] < t[2] && t[1] < box[3] && box[1] < t[3]);
    const write = (px, py, anchor, text, kind) => {
      const wide = text.length * 6.7;
      const left = anchor === "end" ? px - wide : anchor === "middle" ? px - wide / 2 : px;
      const box = [left - 2, py - 11, left + wide + 2, py + 4];
      if (!free(box)) return false;
      taken.push(box);
      add("text", { x: px, y: py, "text-anchor": anchor, class: kind }, text);
      return true;
    };
    /* Roofs: y = bandwidth * x up to the peak. */
    const peak = Math.log2(each.peak);
    const slope = (bytes, kind) => {
      const at = (v) => Math.min(v + Math.log2(bytes), peak);
      const start = Math.max(x.lo, y.lo - Math.log2(bytes));
      const end = Math.min(x.hi, peak - Math.log2(bytes));
      if (start >= end) return false;
      roof(frame.x(start), frame.y(at(start)), frame.x(end), frame.y(at(end)), kind);
      return true;
    };
    const roof = (x1, y1, x2, y2, kind) => {
      add("line", { x1, y1, x2, y2, class: kind });
      for (let i = 0; i <= 60; i++) {
        const [px, py] = [x1 + ((x2 - x1) * i) / 60, y1 + ((y2 - y1) * i) / 60];
        taken.push([px - 8, py - 2, px + 8, py + 2]);
      }
    };
    roof(frame.x(each.load_bytes ? Math.max(x.lo, corner) : x.lo), frame.y(peak), frame.right, frame.y(peak), "roof");
    write(frame.right - 4, frame.y(peak) - 7, "end", `peak: ${each.peak} MACs a cycle`, "quiet");
    const lines = [];
    if (each.load_bytes && slope(each.load_bytes, "roof")) lines.push(["roof", `loads: ${two(each.load_bytes)} bytes a cycle`]);
    if (each.flash_bytes && slope(each.flash_bytes, "roof flash")) lines.push(["roof flash", `constants from flash: ${two(each.flash_bytes)} bytes a cycle`]);
    /* Layers, the longest first, so that short ones lie above them. */
    for (const point of [...drawn].sort((a, b) => b.cycles - a.cycles)) {
      const r = 4 + 12 * Math.sqrt(point.share);
      const [px, py] = [frame.x(Math.log2(point.intensity)), frame.y(Math.log2(point.speed))];
      const kind = point.bound || "multiplications";
      const label = `Layer ${point.name}: ${two(point.intensity)} MACs per byte, ${two(point.speed)} MACs a cycle${point.bound ? `, mostly ${point.bound}` : ""}`;
      add("path", { d: shapes[kind](r), transform: `translate(${px.toFixed(1)} ${py.toFixed(1)})`, class: `point kind-${point.bound ? kinds.indexOf(kind) + 1 : 1}`,
        "data-layer": point.layer, tabindex: 0, role: "button", "aria-label": label, "data-same-as": "roofline-table" }, svg("title", {}, label));
      point.at = [px, py, r];
      taken.push([px - r * 0.7, py - r * 0.7, px + r * 0.7, py + r * 0.7]);
    }
    for (const { at: [px, py, r], layer } of [...drawn].sort((a, b) => b.cycles - a.cycles))
      write(px + r + 3, py + 4, "start", layer, "quiet") || write(px - r - 3, py + 4, "end", layer, "quiet") ||
        write(px, py - r - 4, "middle", layer, "quiet") || write(px, py + r + 13, "middle", layer, "quiet");
    return lines;
  }

  const place = el("div", { class: "roofline" });
  const detail = el("p", { class: "now", "aria-live": "polite" });
  const key = el("ul", { class: "legend roofline" });
  const column = (name, value, show) => ({ name, value, show: (row) => show(value(row)) });
  const table = sortableTable(page, "Roofline of each layer", [
    { name: "Layer", value: (row) => row.name, show: (row) => row.name },
    column("MACs", (row) => row.macs, format.number),
    column("Constants, bytes", (row) => row.constants, format.number),
    column("Activations, bytes", (row) => row.activations, format.number),
    column("MACs per byte", (row) => row.intensity, (v) => (v ? two(v) : "–")),
    column("MACs per cycle", (row) => row.speed, (v) => (v ? two(v) : "–")),
    column("Of the peak", (row) => row.speed / each.peak, (v) => (v ? format.percent(v) : "–")),
    ...(each.load_bytes ? [column("Of its roof", (row) => (row.macs ? row.speed / row.roof : 0), (v) => (v ? format.percent(v) : "–"))] : []),
    ...(each.measured ? [column("Mostly", (row) => row.bound || "", (v) => v || "–")] : []),
  ], points);
  table.id = "roofline-table";
  const counts = kinds.map((kind, i) => [i + 1, kind, points.filter((point) => point.bound === kind)]).filter(([, , of]) => of.length);
  const spent = (of) => of.reduce((sum, point) => sum + point.share, 0);
  const summary = counts.length ? `${[...counts].sort((a, b) => spent(b[2]) - spent(a[2])).map(([, kind, of]) => `${of.length} ${of.length === 1 ? "layer is" : "layers are"} bound by ${kind} (${spent(of) < 0.001 ? "less than 0.1%" : format.percent(spent(of))} of the cycles)`).join("; ")}.`
    : "What bounds each layer is not known without a profile that tells instructions apart.";
  const shape = (index, kind) => svg("svg", { width: 16, height: 16, viewBox: "-9 -9 18 18", "aria-hidden": "true" }, svg("path", { d: shapes[kind](6), class: `point kind-${index}` }));
  const dash = (kind) => svg("svg", { width: 24, height: 10, viewBox: "0 0 24 10", "aria-hidden": "true" }, svg("line", { x1: 0, y1: 5, x2: 24, y2: 5, class: kind }));
  root.append(...[
    el("p", {}, summary),
    drawn.length ? key : null, drawn.length ? place : null, detail, table,
    el("p", { class: "quiet" }, [
      each.measured ? `Cycles are those of the profile${each.loads_known ? ", and so are the constants that were loaded" : "; constants count as read once"}.` : `Cycles are the planner's estimates: ${each.reason}. Constants count as read once.`,
      "Activations are by the plan: every step reads and writes its rows once, whatever its inner loop does.",
      each.measured ? "A layer is bound by what takes most of its cycles; what each instruction takes is the cycle model's." : "",
      `The peak is what the best instruction for int8 does.${each.flash_bytes ? ` Flash: ${each.memory}.` : ""}`,
    ].filter(Boolean).join(" ")),
  ].filter(Boolean));
  if (drawn.length) {
    const lines = chart(place);
    key.append(...counts.map(([index, kind]) => el("li", {}, shape(index, kind), `mostly ${kind}`)), ...lines.map(([kind, name]) => el("li", {}, dash(kind), name)),
      el("li", { class: "quiet" }, "area: share of the cycles"));
  }
  page.onSelect((number) => {
    const point = points.find((p) => p.layer === number);
    detail.textContent = point ? `${point.name}: ${point.sentence || `${two(point.speed)} MACs a cycle, ${format.percent(point.speed / each.peak)} of ${each.peak}`}.` : "";
  });
});
