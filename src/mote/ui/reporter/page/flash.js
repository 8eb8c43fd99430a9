/* Flash by layer and kind, and what layers share. */

report.section("flash", (root, { each }, page) => {
  const { el, format } = page;
  const rows = each.layers.map(([number, ...bytes]) => {
    const layer = page.layerOf(number);
    return { layer: number, name: `${number} ${layer.short}`, bytes, total: bytes.reduce((a, b) => a + b, 0), model: each.model[number] };
  });
  const together = each.kinds.map((_, kind) => each.shared.filter((piece) => piece[1] === kind).reduce((all, piece) => all + piece[2], 0));
  if (each.shared.length)
    rows.push({ layer: null, fixed: true, name: "shared or of no layer", bytes: together, total: together.reduce((a, b) => a + b, 0), model: null });
  const most = Math.max(...rows.map((row) => row.total), 1);
  const sums = each.kinds.map((_, kind) => rows.reduce((all, row) => all + row.bytes[kind], 0));
  const parts = (row) => row.bytes.map((nbytes, kind) => [kind + 1, nbytes]);
  const said = (row) => each.kinds.map((name, kind) => [name, row.bytes[kind]]).filter(([, n]) => n).map(([name, n]) => `${name} ${format.number(n)} bytes`).join(", ") || "nothing";
  const column = (name, value) => ({ name, value, show: (row) => (value(row) ? format.number(value(row)) : "–") });
  const columns = [
    { name: "Layer", value: (row) => row.name, show: (row) => row.name },
    { name: `0 to ${format.bytes(most)}`, value: (row) => row.total, show: (row) => stackedBar(page, parts(row), most, said(row)) },
    column("Bytes", (row) => row.total),
    ...each.kinds.map((name, kind) => column(name[0].toUpperCase() + name.slice(1), (row) => row.bytes[kind])),
    column("In the model", (row) => row.model),
  ];
  const used = (numbers) => numbers.length ? numbers.join(", ") : "–";
  const small = each.kinds.map((name, kind) => ({ name, nbytes: sums[kind], kind }));
  root.append(...[
    el("p", {}, each.linked ? `The linked model takes ${format.number(each.total)} bytes of flash.`
      : `The generated C has ${format.number(each.total)} bytes of constants. Code was not measured: ${each.reason}.`),
    barLegend(page, small.map(({ name, nbytes, kind }) => [kind + 1, `${name} ${format.bytes(nbytes)}`])),
    sortableTable(page, "Flash of each layer", columns, rows),
    el("p", { class: "quiet" }, "Kernels pack constants in the order in which their inner loop reads them: weights may have biases and multipliers among them, " +
      "and padding. “In the model” are the bytes of the layer's constants before that."),
    each.shared.length ? el("details", {}, el("summary", {}, `${format.bytes(together.reduce((a, b) => a + b, 0))} that layers share, or that belong to none`),
      page.table("Shared flash", ["Name", "Bytes", el("div", { class: "text" }, "Kind"), el("div", { class: "text" }, "Layers")], each.shared.map(([name, kind, nbytes, numbers]) =>
        [el("code", {}, name), format.number(nbytes), el("div", { class: "text" }, each.kinds[kind]), el("div", { class: "text" }, used(numbers))]))) : null,
    each.functions.length ? el("details", {}, el("summary", {}, `${each.functions.length} functions`),
      page.table("Functions", ["Function", "Bytes", el("div", { class: "text" }, "Layers that run it")], each.functions.map(([name, nbytes, numbers]) =>
        [el("code", {}, name), format.number(nbytes), el("div", { class: "text" }, used(numbers))]))) : null,
  ].filter(Boolean));
}, { fluid: true });
