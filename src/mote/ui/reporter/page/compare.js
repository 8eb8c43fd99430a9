/* Several targets side by side; and, layer by layer, the difference to another model or to an earlier report. */

report.section("compare", (root, { whole }, page) => {
  const { el, format } = page;
  const shown = page.data.targets.map((target) => ({ title: target.name, target }));
  const other = whole.against && { title: whole.against.title, target: whole.against.target };
  const columns = other ? [...shown, other] : shown;
  const facts = [
    ["RAM", (o) => o.ram, format.bytes], ["arena", (o) => o.arena, format.bytes], ["stack", (o) => o.stack, format.bytes],
    ["flash", (o) => o.constants + (o.code || 0), format.bytes], ["constants", (o) => o.constants, format.bytes], ["code", (o) => o.code, format.bytes],
    ["MACs", (o) => o.macs, format.count], ["instructions", (o) => o.instructions, format.count],
    ["cycles", (o) => o.cycles, format.count], ["estimated cycles", (o) => o.estimate, format.count],
    ["time", (o) => o.seconds, format.seconds], ["energy, µJ", (o) => o.microjoules, (x) => (x === null ? "–" : format.digits(x))],
  ];

  /* A number, and how much it is above or below another one: less is better. */
  function cell(value, base, show) {
    const known = typeof value === "number" && typeof base === "number" && base !== 0;
    const change = known ? value / base - 1 : 0;
    const kind = Math.abs(change) < 0.0005 ? "" : change < 0 ? "better" : "worse";
    return el("td", { class: kind }, show(value ?? null), kind ? el("small", {}, `${change > 0 ? "+" : "−"}${(100 * Math.abs(change)).toFixed(1)}%`) : null);
  }

  /* The percentages are of the other model, if there is one, else of the first target. */
  const base = other || shown[0];
  root.append(
    el("p", { class: "quiet" }, `Percentages are against ${base.title}.`),
    page.table("Totals side by side", ["figure", ...columns.map((column) => column.title)],
      facts.filter(([, get]) => columns.some((column) => typeof get(column.target.each.overview) === "number")).map(([name, get, show]) =>
        [name, ...columns.map((column) => cell(get(column.target.each.overview), column === base ? undefined : get(base.target.each.overview), show))])));
  if (other) root.append(el("h3", {}, `Layer by layer, on ${page.target.name}`), layers());

  /* Layers of both by name, then by operator and order; those that only one has at the end. */
  function layers() {
    const theirs = [...other.target.layers];
    const take = (test) => {
      const at = theirs.findIndex(test);
      return at < 0 ? undefined : theirs.splice(at, 1)[0];
    };
    const named = page.layers.map((layer) => take((o) => o.name === layer.name && o.op === layer.op));
    const pairs = page.layers.map((layer, i) => [layer, named[i] || take((o) => o.op === layer.op)]);
    const rows = [...pairs, ...theirs.map((layer) => [undefined, layer])].map(([mine, its]) => {
      const name = mine ? `${mine.number} ${mine.short}` : `${its.short} (only in ${other.title})`;
      const was = its && mine && its.kernel !== mine.kernel ? el("small", {}, `was ${its.kernel}`) : null;
      return { layer: mine?.number, cells: [name, (mine || its).op, el("td", { class: "text" }, mine?.kernel ?? "–", was),
        cell(mine?.cycles, its?.cycles, format.count), cell(mine?.constants, its?.constants, format.bytes)] };
    });
    return page.table("Layers side by side", ["layer", "op", "kernel", "cycles", "flash"], rows);
  }
});
