/* The C of the selected layer beside its part of the plan, and every file of the project. */

/* C as [kind, text]: comments, strings, preprocessor, keywords, types, numbers, called functions, and the rest. */
const C_TOKENS = new RegExp([
  /(?<comment>\/\*[^]*?\*\/|\/\/[^\n]*)/, /(?<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')/, /(?<directive>^[ \t]*#[ \t]*\w+)/,
  /(?<keyword>\b(?:auto|break|case|const|continue|default|do|else|enum|extern|for|goto|if|inline|register|restrict|return|sizeof|static|struct|switch|typedef|union|volatile|while|__asm__)\b)/,
  /(?<type>\b(?:void|char|short|int|long|float|double|signed|unsigned|bool|\w+_t)\b)/,
  /(?<number>\b(?:0[xX][0-9a-fA-F]+|\d[\w.]*)\b)/, /(?<call>\b[A-Za-z_]\w*(?=\())/,
].map((part) => part.source).join("|"), "gm");

function* tokensOfC(text) {
  let at = 0;
  for (const match of text.matchAll(C_TOKENS)) {
    if (match.index > at) yield ["", text.slice(at, match.index)];
    yield [Object.keys(match.groups).find((kind) => match.groups[kind] !== undefined), match[0]];
    at = match.index + match[0].length;
  }
  if (at < text.length) yield ["", text.slice(at)];
}

report.section("source", (root, { each, whole }, page) => {
  const { el, format } = page;
  const SHORT = 40;
  const textOf = (file) => whole[each.files[file][1]];
  const nameOf = (file) => each.files[file][0];
  const isC = (file) => /\.(c|h|hpp|cpp)$/.test(nameOf(file));
  const places = (first, last) => (last - first === 1 ? `line ${first + 1}` : `lines ${first + 1} to ${last}`);
  const tensorName = (t) => page.target.each.graph?.tensors[t]?.name ?? `tensor ${t}`;
  const brief = (name) => (name.length <= 28 ? name : `${name.slice(0, 9)}…${name.slice(-18)}`);
  let file = null;

  function code(text, label, plain) {
    const marked = el("code", {});
    if (plain) marked.textContent = text;
    else for (const [kind, part] of tokensOfC(text)) marked.append(kind ? el("span", { class: `c-${kind}` }, part) : part);
    return el("pre", { class: "c", tabindex: 0, role: "region", "aria-label": label }, marked);
  }

  /* Lines of a file under their title, folded where they are many; what is unfolded is highlighted then. */
  function part([title, at, first, last]) {
    const lines = textOf(at).split("\n").slice(first, last);
    const indent = Math.min(...lines.filter((line) => line.trim()).map((line) => line.search(/\S/)));
    const text = lines.map((line) => line.slice(indent)).join("\n").replace(/\n+$/, "");
    const where = `${nameOf(at)}, ${places(first, last)}`;
    const head = [el("strong", {}, title), " ", el("span", { class: "quiet" }, where)];
    const shown = () => code(text, `${title}: ${where}`, !isC(at));
    if (lines.length <= SHORT) return el("div", { class: "part" }, el("div", { class: "part-head" }, head), shown());
    const folded = el("details", { class: "part", on: { toggle: () => { if (folded.open && !folded.querySelector("pre")) folded.append(shown()); } } },
      el("summary", {}, head));
    return folded;
  }

  function steps([count, runs]) {
    const said = runs.slice(0, 8).map(([a, b]) => (a === b ? `${a}` : `${a} to ${b}`)).join(", ");
    return `${said}${runs.length > 8 ? " and so on" : ""}, of ${format.number(count)}`;
  }

  function planned(plan) {
    const [lo, hi, group] = plan.rows;
    const at = ([memory, offset, bytes]) => `${format.bytes(bytes)} at ${format.number(offset)}${memory === "arena" ? "" : ` of ${memory}`}`;
    const pairs = {
      Steps: steps(plan.steps),
      "Output rows": hi - lo === group ? `${lo} to ${hi - 1}, at once` : `${lo} to ${hi - 1}, ${group === 1 ? "one" : `${group}`} a step`,
      ...(plan.scratch ? { Scratch: at(plan.scratch) } : {}),
      ...(plan.sums ? { Accumulators: at(plan.sums) } : {}),
    };
    return [
      el("dl", { class: "pairs" }, Object.entries(pairs).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
      page.table("Buffers", ["Buffer", "Offset", "Rows × bytes", "Layout"], plan.buffers.map(([role, t, memory, offset, how, bytes, rows, layout]) => [
        el("span", { class: "tensor-name", title: tensorName(t) }, el("span", { class: "quiet" }, `${role}, ${how}`), brief(tensorName(t))),
        `${format.number(offset)}${memory === "arena" ? "" : ` of ${memory}`}`, `${format.number(rows)} × ${format.number(bytes)}`, layout]))];
  }

  const choice = el("select", { on: { change: () => {
    const [kind, value] = choice.value.split(/:(.*)/s);
    if (kind === "layer") page.select(value);
    else { file = Number(value); show(); }
  } } },
    el("optgroup", { label: "Layers" }, page.layers.map((layer) => el("option", { value: `layer:${layer.number}` }, `${layer.number} ${layer.short}, ${layer.op}`))),
    el("optgroup", { label: "Files" }, each.files.map(([name], i) => el("option", { value: `file:${i}` }, name))));
  const place = el("div", {});
  root.append(el("p", { class: "source-choice" }, el("label", {}, el("span", { class: "quiet" }, "Show "), choice)), place);

  function open(to) { file = to; show(); choice.focus({ preventScroll: true }); }

  function show() {
    const layer = page.layerOf(page.layer) || page.layers[0];
    if (file !== null || !layer) {
      const at = file ?? each.main;
      choice.value = `file:${at}`;
      place.replaceChildren(el("h3", {}, nameOf(at)),
        el("div", { class: "file" }, code(textOf(at), nameOf(at), !isC(at))));
      return;
    }
    const { parts, headers, plan } = each.layers[layer.number];
    choice.value = `layer:${layer.number}`;
    place.replaceChildren(
      el("h3", { "data-layer": layer.number }, `${layer.number} ${layer.op} `, el("span", { class: "quiet" }, layer.short)),
      el("div", { class: "source" },
        el("div", {}, parts.map(part)),
        el("div", { class: "plan-part" }, el("h4", {}, "Plan"), planned(plan), el("h4", {}, "Files"),
          el("div", { class: "headers" }, [each.main, ...headers].map((at) => el("button", { type: "button", on: { click: () => open(at) } }, nameOf(at)))))));
  }

  addEventListener("beforeprint", () => { for (const folded of place.querySelectorAll("details")) folded.open = true; });
  page.onSelect((number) => {
    if (number !== null) file = null;
    show();
  });
}, { fluid: true });
