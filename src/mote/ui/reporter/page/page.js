/* The page: sections, the target that is shown, the layer that is selected. Sections register with report.section and
   mark what belongs to a layer with data-layer: a click or Enter there selects the layer everywhere. A section is drawn
   again when the page gets another width, unless it registers with {fluid: true}. */

const report = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const renderers = new Map();
  const listeners = new Map();
  let drawn = "";
  const page = {
    data, index: 0, layer: null,
    get target() { return data.targets[page.index]; },
    get layers() { return page.target.layers; },
  };

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

  /* The bytes of a text in base64. */
  function bytes(text) {
    const letters = atob(text), made = new Uint8Array(letters.length);
    for (let i = 0; i < made.length; i++) made[i] = letters.charCodeAt(i);
    return made;
  }

  /* A table: head is a list of names, rows are lists of text, elements or whole cells (<td>); a row may be {cells, layer}, whose first cell
     then is a button that selects the layer. Columns of words are left-aligned, those of numbers right-aligned. */
  function table(caption, head, rows) {
    const column = (i) => rows.map((row) => (row.cells || row)[i]).filter((cell) => cell !== "");
    const isCell = (cell) => cell instanceof HTMLTableCellElement;
    const isWord = (cell) => (isCell(cell) ? cell.classList.contains("text") : typeof cell === "string" && !/^[–≈+−-]?\s*\d|^–$/.test(cell));
    const words = head.map((_, i) => i > 0 && column(i).length > 0 && column(i).every(isWord));
    const kind = (i) => (words[i] ? { class: "text" } : {});
    const line = (row) => {
      const cells = row.cells || row;
      const name = row.layer ? el("button", { class: "name", "data-layer": row.layer }, cells[0]) : cells[0];
      return el("tr", { "data-layer": row.layer },
        cells.map((cell, i) => (i === 0 ? el("th", { scope: "row" }, name) : isCell(cell) ? cell : el("td", kind(i), cell))));
    };
    return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
      el("table", {}, el("caption", { class: "unseen" }, caption),
        el("thead", {}, el("tr", {}, head.map((name, i) => (name ? el("th", { scope: "col", ...kind(i) }, name) : el("td", {}))))),
        el("tbody", {}, rows.map(line))));
  }

  Object.assign(page, {
    el, svg, format, bytes, table,
    layerOf: (number) => page.layers.find((layer) => layer.number === number),
    onSelect: (call) => listeners.set(drawn, [...(listeners.get(drawn) || []), call]),
    select,
    announce: (text) => { document.getElementById("announce").textContent = text; },
  });

  function select(number) {
    page.layer = page.layerOf(number) ? number : null;
    for (const call of [...listeners.values()].flat()) call(page.layer);
    mark();
    bar();
    const layer = page.layerOf(page.layer);
    if (layer) page.announce(`Layer ${layer.number}, ${layer.short}, selected`);
    if (layer || location.hash.startsWith("#layer=")) remember(layer ? `layer=${layer.number}` : "");
  }

  /* The address with a place in the page; a page that is shown inside of another one has no address. */
  function remember(place) {
    if (location.protocol !== "about:") history.replaceState(null, "", `#${place}`);
  }

  function goTo(id) {
    const place = document.getElementById(id);
    if (!place) return;
    place.scrollIntoView();
    if (!place.matches("a[href], button, input, select, summary, [tabindex]")) place.tabIndex = -1;
    place.focus({ preventScroll: true });
    remember(id);
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
      el("button", { class: "clear", on: { click: () => select(null) } }, "Clear"),
      el("span", { class: "jump" }, places.map((section) =>
        el("a", { href: `#${section.id}`, on: { click: (event) => showIn(event, section) } },
          section.querySelector("h2").textContent))));
  }
  const placeIn = (section) => section.querySelector(`[data-layer="${CSS.escape(page.layer)}"]`);
  function showIn(event, section) {
    event.preventDefault();
    placeIn(section).closest("details:not([open])")?.setAttribute("open", "");
    placeIn(section).scrollIntoView({ block: "center" });
  }

  function render() {
    const main = document.getElementById("content");
    const nav = document.getElementById("sections");
    listeners.clear();
    document.getElementById("subtitle").textContent = `on ${page.target.name}, by Mote ${data.mote}`;
    main.replaceChildren();
    nav.replaceChildren();
    for (const { key, title, whole } of data.sections) {
      const each = page.target.each[key];
      if (!renderers.has(key) || ((each === undefined || each === null) && whole === null)) continue;
      const heading = el("h2", { id: `${key}-title` }, title);
      main.append(el("section", { id: key, "aria-labelledby": heading.id }, heading, el("div", { class: "body" })));
      nav.append(el("a", { href: `#${key}` }, title));
      draw(key);
    }
    follow(main, nav);
    select(page.layer);
  }

  /* Mark the link of the section that is being read. */
  function follow(main, nav) {
    const links = new Map([...nav.children].map((link) => [link.hash.slice(1), link]));
    const seen = new IntersectionObserver((changes) => {
      for (const { target, isIntersecting } of changes) target.dataset.read = isIntersecting ? "true" : "false";
      const first = [...main.children].find((section) => section.dataset.read === "true");
      for (const [id, link] of links)
        first?.id === id ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
    }, { rootMargin: "-20% 0px -60% 0px" });
    for (const section of main.children) seen.observe(section);
  }

  /* Fill a section, anew where it was filled; what was unfolded stays so. */
  function draw(key) {
    const body = document.querySelector(`#${key} > .body`);
    const folds = [...body.querySelectorAll("details")].map((details) => details.open);
    const { whole } = data.sections.find((section) => section.key === key);
    body.replaceChildren();
    listeners.delete(key);
    drawn = key;
    renderers.get(key).render(body, { each: page.target.each[key], whole }, page);
    drawn = "";
    folds.forEach((open, i) => { if (body.querySelectorAll("details")[i]) body.querySelectorAll("details")[i].open = open; });
  }

  function redraw() {
    for (const section of document.querySelectorAll("main > section")) if (!renderers.get(section.id).fluid) draw(section.id);
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
    place.append(choose("Theme", themes, 0, (i) => { theme = i; paint(); }));
  }

  function start() {
    controls();
    render();
    document.addEventListener("click", (event) => {
      const place = event.target.closest("[data-layer]");
      if (place) select(place.dataset.layer);
      const link = event.target.closest("a[href^='#']");
      if (link && !event.defaultPrevented) {
        event.preventDefault();
        goTo(decodeURIComponent(link.getAttribute("href").slice(1)));
      }
    });
    document.addEventListener("keydown", (event) => {
      const place = event.target;
      const own = place.matches?.("button, a, input, select, textarea, summary");
      if (place.dataset?.layer && !own && (event.key === "Enter" || event.key === " ")) {
        event.preventDefault();
        select(place.dataset.layer);
      }
      if (event.key === "Escape") select(null);
    });
    const asked = () => {
      const layer = new URLSearchParams(location.hash.slice(1)).get("layer");
      if (layer) select(layer);
    };
    addEventListener("hashchange", asked);
    asked();
    let width = innerWidth;
    addEventListener("resize", () => {
      if (innerWidth !== width) requestAnimationFrame(redraw);
      width = innerWidth;
    });
    printing();
    document.documentElement.dataset.ready = "true";
  }

  /* Paper shows what is folded. */
  function printing() {
    let closed = [];
    addEventListener("beforeprint", () => {
      closed = [...document.querySelectorAll("details:not([open])")];
      for (const details of closed) details.open = true;
    });
    addEventListener("afterprint", () => { for (const details of closed) details.open = false; });
  }

  return { section: (key, render, { fluid = false } = {}) => renderers.set(key, { render, fluid }), start, page };
})();
