/* The plans to choose from: two of RAM, time and flash as a chart, budgets as sliders and as lines that can be dragged,
   and the command that compiles the fastest plan within them, or the plan under the cursor. */

report.section("front", (root, { each }, page) => {
  const { el, svg, format } = page;
  const clock = page.target.clock_hz;
  const cycles = (value) => format.count(value) + (clock ? ` (${format.seconds(value / clock)})` : "");
  const kilobytes = (value) => (value % 1024 ? format.number(value) : `${value / 1024} KB`);
  const kinds = {
    ram: { name: "RAM", budget: "RAM", axis: "RAM", show: format.bytes, tick: kilobytes, binary: true },
    cost: { name: "Time", budget: "time", axis: each.unit, show: cycles, tick: format.count },
    flash: { name: "Flash", budget: "flash", axis: each.measured ? "flash" : "flash of constants", show: format.bytes, tick: kilobytes, binary: true },
  };
  const views = [["ram", "cost"], ["flash", "cost"], ["ram", "flash"]];
  const points = each.points;
  const extremes = (kind) => {
    const values = [...points, each.chosen].map((point) => point[kind]);
    return [Math.min(...values), Math.max(...values)];
  };
  const limits = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, extremes(kind)[1]]));
  const marked = ["least", "fastest", "small", "smallest"];
  let view = views[0];
  let under = null;

  const within = (point) => Object.keys(kinds).every((kind) => point[kind] <= limits[kind]);
  const best = () => points.filter(within).sort((a, b) => a.cost - b.cost || a.ram - b.ram || a.flash - b.flash)[0];
  const isChosen = (point) => ["ram", "cost", "flash"].every((kind) => point[kind] === each.chosen[kind]);
  const said = (point) => Object.entries(kinds).map(([kind, { name, show }]) => `${name} ${show(point[kind])}`).join(", ");

  const chart = el("div", { class: "front" });
  const result = el("p", { "aria-live": "polite" });
  const command = el("code", {});
  const copy = el("button", { on: { click: () => copied() } }, "Copy");
  const sliders = Object.fromEntries(Object.keys(kinds).map((kind) => {
    const [lo, hi] = extremes(kind);
    const value = el("output", {});
    const input = el("input", {
      type: "range", min: lo, max: hi, step: 1, value: hi, disabled: lo === hi, "aria-label": `Most ${kinds[kind].budget}`,
      on: { input: () => { limits[kind] = Number(input.value); draw(); } },
    });
    return [kind, { input, value, label: el("label", {}, `Most ${kinds[kind].budget}`, value, input) }];
  }));
  const choice = el("fieldset", { class: "views" }, el("legend", { class: "unseen" }, "Axes"), views.map((pair, i) =>
    el("label", {}, el("input", { type: "radio", name: "view", checked: i === 0, on: { change: () => { view = pair; draw(); } } }),
      `${kinds[pair[1]].name} over ${kinds[pair[0]].name}`)));

  async function copied() {
    try {
      await navigator.clipboard.writeText(command.textContent);
      page.announce("Command copied");
    } catch {
      getSelection().selectAllChildren(command);
      page.announce("The command is selected: copy it with the keyboard");
    }
  }

  /* The command of the point under the cursor, else of the best one within the budgets. */
  function tell() {
    const fitting = best();
    const shown = under || fitting;
    for (const [kind, { input, value }] of Object.entries(sliders)) {
      value.textContent = kinds[kind].show(limits[kind]);
      input.value = limits[kind];
      input.setAttribute("aria-valuetext", value.textContent);
    }
    copy.disabled = !shown;
    command.textContent = shown ? `${each.command} --point ${shown.name} -o build/${each.name}` : "";
    result.replaceChildren(...(shown
      ? [el("strong", {}, shown.name), `: ${said(shown)}${under ? "" : points.every(within) ? ", the fastest plan" : ", the fastest plan within the budgets"}${isChosen(shown) ? "; the plan of this report" : ""}.`]
      : ["No plan is within these budgets: raise one of them."]));
  }

  function limitLine(frame, kind, across) {
    const at = across ? frame.y(limits[kind]) : frame.x(limits[kind]);
    const ends = across ? { x1: frame.left, x2: frame.right, y1: at, y2: at } : { x1: at, x2: at, y1: frame.top, y2: frame.bottom };
    const [lo, hi] = extremes(kind);
    const drag = (event) => {
      const box = frame.root.getBoundingClientRect();
      const scale = frame.root.viewBox.baseVal.width / box.width;
      const place = across ? (event.clientY - box.top) * scale : (event.clientX - box.left) * scale;
      const [from, to] = across ? [frame.bottom, frame.top] : [frame.left, frame.right];
      const top = frame.tops[kind];
      limits[kind] = Math.round(Math.min(hi, Math.max(lo, ((place - from) / (to - from)) * top)));
      draw();
    };
    const handle = svg("line", { ...ends, class: "handle", on: { pointerdown: (event) => {
      event.preventDefault();
      const stop = () => { removeEventListener("pointermove", drag); removeEventListener("pointerup", stop); };
      addEventListener("pointermove", drag);
      addEventListener("pointerup", stop);
    } } });
    return svg("g", { class: across ? "across" : "down" }, svg("line", { ...ends, class: "limit" }), handle);
  }

  /* Names of the plans that have one, but for those that would cover another. */
  function label(frame, names) {
    const placed = [];
    for (const [name, point] of names) {
      const [x, y] = [frame.x(point[view[0]]), frame.y(point[view[1]]) - 16];
      const anchor = x > frame.right - 60 ? "end" : x < frame.left + 60 ? "start" : "middle";
      if (placed.some((other) => Math.abs(other.x - x) < 90 && Math.abs(other.y - y) < 16)) continue;
      placed.push({ x, y });
      frame.root.append(svg("text", { x, y, "text-anchor": anchor, class: "point-name" }, name));
    }
  }

  function draw() {
    const [across, up] = view;
    const focused = document.activeElement?.dataset?.point;
    chart.replaceChildren();
    const tops = Object.fromEntries(view.map((kind) => [kind, extremes(kind)[1] * 1.12]));
    const axis = (kind) => ({ hi: tops[kind], name: kinds[kind].axis, format: kinds[kind].tick, binary: kinds[kind].binary });
    const frame = chartFrame(page, chart, {
      height: 320, top: 24, label: `${kinds[up].name} over ${kinds[across].name} of ${points.length} plans`, x: axis(across), y: axis(up),
    });
    frame.tops = tops;
    frame.root.append(svg("rect", {
      class: "inside", x: frame.left, width: frame.x(limits[across]) - frame.left, y: frame.y(limits[up]), height: frame.bottom - frame.y(limits[up]),
    }));
    if (across === "ram" && up === "cost") {
      const line = points.filter((point) => point.best);
      const path = line.map((point, i) => `${i ? `H${frame.x(point.ram)}V` : `M${frame.x(point.ram)} `}${frame.y(point.cost)}`).join("");
      frame.root.append(svg("path", { class: "stairs", d: path }));
    }
    frame.root.append(limitLine(frame, across, false), limitLine(frame, up, true));
    const fitting = best();
    const group = svg("g", { role: "list", "aria-label": "Plans" });
    for (const point of points) {
      const kind = point === fitting ? "fits" : point.best ? "" : "beside";
      const show = () => { under = point; tell(); };
      const leave = (event) => { if (event.target.isConnected) { under = null; tell(); } };
      group.append(svg("circle", {
        class: `point ${kind} ${within(point) ? "" : "outside"}`, cx: frame.x(point[across]), cy: frame.y(point[up]), r: point === fitting ? 7 : 5,
        tabindex: 0, role: "listitem", "data-point": point.name, "aria-label": `${point.name}: ${said(point)}`,
        on: { mouseenter: show, mouseleave: leave, focus: show, blur: leave },
      }, svg("title", {}, `${[point.name, ...point.aliases].join(", ")}\n${said(point)}`)));
    }
    frame.root.setAttribute("role", "group");
    frame.root.append(group, svg("circle", { class: "chosen", cx: frame.x(each.chosen[across]), cy: frame.y(each.chosen[up]), r: 11 }));
    label(frame, [["this report", each.chosen], ...points.flatMap((point) => [point.name, ...point.aliases].filter((name) => marked.includes(name)).map((name) => [name, point]))]);
    tell();
    if (focused) chart.querySelector(`[data-point="${CSS.escape(focused)}"]`)?.focus();
  }

  root.append(
    el("p", { class: "quiet" }, `Every point is a plan of the same model; each computes the same outputs. ${each.measured ? "" : "Time is the planner's estimate. "}The ring is the plan of this report. Drag a budget.`),
    choice, chart, el("div", { class: "budgets" }, Object.values(sliders).map(({ label }) => label)),
    result, el("div", { class: "command" }, command, copy),
    el("details", {}, el("summary", {}, "Table of plans"), page.table("Plans to choose from",
      ["plan", "RAM", each.unit, "flash", ""],
      points.map((point) => [[point.name, ...point.aliases].join(", "), format.bytes(point.ram), format.number(point.cost), format.bytes(point.flash),
        isChosen(point) ? "this report" : point.best ? "" : "another is better"]))));
  draw();
  new ResizeObserver(() => chart.firstChild && Math.abs(chart.clientWidth - chart.firstChild.viewBox.baseVal.width) > 8 && draw()).observe(chart);
});
