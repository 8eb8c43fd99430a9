/* The page: sections, the target that is shown, the layer that is selected. Sections register with report.section and
   mark what belongs to a layer with data-layer: a click or Enter there selects the layer everywhere. */

const report = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const renderers = new Map();
  const listeners = [];
  const page = { data, index: 0, layer: null };

  /* Elements. Attributes: `on` is a map of event listeners, `text` the text; null and false are left out. */
  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name === "on") for (const [event, call] of Object.entries(value)) node.addEventListener(event, call);
      else if (name === "text") node.textContent = value;
      else node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return node;
  }
  const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

  /* Numbers as people read them. */
  const format = {
    number: (value) => (value === null || value === undefined ? "–" : value.toLocaleString("en-US")),
    bytes: (value) =>
      value === null || value === undefined ? "–" : value < 10240 ? `${format.number(value)} B` : `${format.digits(value / 1024)} KB`,
    digits: (value) => Number(value.toPrecision(3)).toLocaleString("en-US"),
    count: (value) => {
      if (value === null || value === undefined) return "–";
      for (const [size, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]])
        if (value >= size * 10 || (value >= size && size > 1e3)) return `${format.digits(value / size)} ${letter}`;
      return format.number(Math.round(value));
    },
    seconds: (value) => {
      if (value === null || value === undefined) return "–";
      for (const [size, unit] of [[1, "s"], [1e-3, "ms"]]) if (value >= size) return `${format.digits(value / size)} ${unit}`;
      return `${format.digits(value / 1e-6)} µs`;
    },
    percent: (value) => (value === null || value === undefined ? "–" : `${(100 * value).toFixed(value < 0.1 ? 1 : 0)}%`),
  };

  /* A table: head is a list of names, rows are lists of text or elements; a row may be {cells, layer}. */
  function table(caption, head, rows) {
    const line = (row) => {
      const cells = row.cells || row;
      return el("tr", row.layer ? { "data-layer": row.layer, tabindex: 0 } : {},
        cells.map((cell, i) => (i === 0 ? el("th", { scope: "row" }, cell) : el("td", {}, cell))));
    };
    return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
      el("table", {}, el("caption", { class: "unseen" }, caption),
        el("thead", {}, el("tr", {}, head.map((name) => el("th", { scope: "col" }, name)))),
        el("tbody", {}, rows.map(line))));
  }

  Object.assign(page, {
    el, svg, format, table,
    get target() { return data.targets[page.index]; },
    get layers() { return page.target.layers; },
    layerOf: (number) => page.layers.find((layer) => layer.number === number),
    onSelect: (call) => listeners.push(call),
    select,
    announce: (text) => { document.getElementById("announce").textContent = text; },
  });

  function select(number) {
    page.layer = page.layerOf(number) ? number : null;
    mark();
    bar();
    for (const call of listeners) call(page.layer);
    const layer = page.layerOf(page.layer);
    if (layer) {
      history.replaceState(null, "", `#layer=${layer.number}`);
      page.announce(`Layer ${layer.number}, ${layer.short}, selected`);
    }
  }

  function mark() {
    for (const node of document.querySelectorAll("[data-layer]")) {
      const chosen = node.dataset.layer === page.layer;
      node.classList.toggle("selected", chosen);
      chosen ? node.setAttribute("aria-current", "true") : node.removeAttribute("aria-current");
    }
  }

  /* The bar of the selected layer: its name, its neighbours, and links to where each section shows it. */
  function bar() {
    const place = document.getElementById("selected");
    const at = page.layers.findIndex((layer) => layer.number === page.layer);
    place.hidden = at < 0;
    if (at < 0) return;
    const layer = page.layers[at];
    const step = (name, label, to) =>
      el("button", { "aria-label": label, disabled: !page.layers[to], on: { click: () => select(page.layers[to].number) } }, name);
    const places = [...document.querySelectorAll("main > section")].filter((section) => placeIn(section));
    place.replaceChildren(
      step("←", "Previous layer", at - 1), step("→", "Next layer", at + 1),
      el("span", {}, el("strong", {}, `${layer.number} ${layer.short}`), el("span", { class: "quiet" }, layer.op)),
      el("span", { class: "jump" }, places.map((section) =>
        el("a", { href: `#${section.id}`, on: { click: (event) => { event.preventDefault(); placeIn(section).scrollIntoView({ block: "center" }); } } },
          section.querySelector("h2").textContent))),
      el("button", { on: { click: () => select(null) } }, "Clear"));
  }
  const placeIn = (section) => section.querySelector(`[data-layer="${CSS.escape(page.layer)}"]`);

  function render() {
    const main = document.getElementById("content");
    const nav = document.getElementById("sections");
    listeners.length = 0;
    main.replaceChildren();
    nav.replaceChildren();
    for (const { key, title, whole } of data.sections) {
      const each = page.target.each[key];
      if (!renderers.has(key) || ((each === undefined || each === null) && whole === null)) continue;
      const body = el("div", {});
      main.append(el("section", { id: key, "aria-labelledby": `${key}-title` }, el("h2", { id: `${key}-title` }, title), body));
      nav.append(el("a", { href: `#${key}` }, title));
      renderers.get(key)(body, { each, whole }, page);
    }
    select(page.layer);
  }

  function controls() {
    const choose = (label, names, chosen, call) =>
      el("label", {}, el("span", { class: "quiet" }, `${label} `), el("select", { on: { change: (event) => call(event.target.selectedIndex) } },
        names.map((name, i) => el("option", { selected: i === chosen }, name))));
    const themes = ["system", "light", "dark"];
    const dark = matchMedia("(prefers-color-scheme: dark)");
    let theme = 0;
    const paint = () => {
      document.documentElement.dataset.theme = theme ? themes[theme] : dark.matches ? "dark" : "light";
    };
    dark.addEventListener("change", paint);
    paint();
    document.getElementById("title").textContent = data.model;
    const place = document.getElementById("controls");
    if (data.targets.length > 1)
      place.append(choose("Target", data.targets.map((t) => t.name), 0, (i) => { page.index = i; render(); }));
    else place.append(el("span", { class: "quiet" }, `on ${page.target.name}`));
    place.append(choose("Theme", themes, 0, (i) => { theme = i; paint(); }));
  }

  function start() {
    controls();
    render();
    document.addEventListener("click", (event) => {
      const place = event.target.closest("[data-layer]");
      if (place) select(place.dataset.layer);
    });
    document.addEventListener("keydown", (event) => {
      const place = event.target.closest?.("[data-layer]");
      if (place && (event.key === "Enter" || event.key === " ")) {
        event.preventDefault();
        select(place.dataset.layer);
      }
      if (event.key === "Escape") select(null);
    });
    const asked = new URLSearchParams(location.hash.slice(1)).get("layer");
    if (asked) select(asked);
    document.documentElement.dataset.ready = "true";
  }

  return { section: (key, render) => renderers.set(key, render), start, page };
})();
