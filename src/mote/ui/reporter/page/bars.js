/* Tables that can be sorted, with stacked bars in their cells. */

/* A table whose columns sort the rows: {name, value, show, first}. `value(row)` is what rows are compared by, `show(row)`
   the text or element in the cell. Rows may have a layer, and `fixed` ones stay at the end. */
function sortableTable(page, caption, columns, rows) {
  const { el } = page;
  const heads = columns.map((column, i) => el("button", { class: "sort", on: { click: () => sort(i) } }, column.name));
  const table = page.table(caption, heads, rows.map((row) => ({ layer: row.layer, cells: columns.map((column) => column.show(row)) })));
  const body = table.querySelector("tbody");
  const lines = rows.map((row, i) => ({ row, line: body.children[i] }));
  let [by, rising] = [-1, true];
  function sort(i) {
    const text = typeof columns[i].value(rows[0]) === "string";
    if (by !== i) [by, rising] = [i, text];
    else if (rising === text) rising = !rising;
    else by = -1;
    const compare = (a, b) => (a === null) - (b === null) || (text ? a.localeCompare(b, "en", { numeric: true }) : a - b);
    const order = by < 0 ? lines : [...lines].sort((a, b) =>
      Boolean(a.row.fixed) - Boolean(b.row.fixed) || (rising ? 1 : -1) * compare(columns[by].value(a.row), columns[by].value(b.row)));
    body.append(...order.map(({ line }) => line));
    heads.forEach((head, k) => {
      const place = head.parentElement;
      k === by ? place.setAttribute("aria-sort", rising ? "ascending" : "descending") : place.removeAttribute("aria-sort");
    });
    page.announce(by < 0 ? "In the order of the model" : `Sorted by ${heads[by].textContent}, ${rising ? "rising" : "falling"}`);
  }
  table.classList.add("sortable");
  return table;
}

/* A stacked bar: parts are [number of the series, value]; `most` is the value of the whole width. */
function stackedBar(page, parts, most, said) {
  const { el } = page;
  return el("span", { class: "stacked", role: "img", "aria-label": said },
    parts.filter(([, value]) => value > 0).map(([series, value]) =>
      el("span", { class: `series-${series}`, style: `width: ${((100 * value) / Math.max(most, 1)).toFixed(2)}%` })));
}

/* The names of the series of bars. */
function barLegend(page, names) {
  return page.el("ul", { class: "legend" }, names.map(([series, name]) =>
    page.el("li", {}, page.el("span", { class: `key series-${series}`, "aria-hidden": "true" }), name)));
}
