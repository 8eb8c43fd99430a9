/* The model and the target in a few numbers. */

report.section("overview", (root, { each }, page) => {
  const { el, format } = page;
  const fact = (name, value, more) => el("div", {}, el("dt", {}, name), el("dd", {}, value, more ? el("small", {}, more) : null));
  const cycles = each.cycles === null ? fact("Cycles", `≈ ${format.count(each.estimate)}`, "estimated by the planner")
    : fact("Cycles", format.count(each.cycles), each.instructions === null ? "" : `${format.count(each.instructions)} instructions`);
  root.append(
    el("dl", { class: "facts" },
      fact("RAM", format.bytes(each.ram), `arena ${format.bytes(each.arena)}${each.stack === null ? "" : `, stack ${format.bytes(each.stack)}`}`),
      fact("Flash", format.bytes(each.constants + (each.code || 0)), each.code === null ? "constants only" : `code ${format.bytes(each.code)}`),
      cycles,
      each.seconds === null ? null : fact("Time", format.seconds(each.seconds), page.target.clock_hz ? `at ${page.target.clock_hz / 1e6} MHz` : ""),
      each.metered !== null ? fact("Energy", `${format.digits(each.metered)} µJ`, "measured")
        : each.microjoules === null ? null : fact("Energy", `${format.digits(each.microjoules)} µJ`, "estimate"),
      fact("MACs", format.count(each.macs), `${each.layers} layers`)),
    el("p", { class: "quiet" }, each.tools.length ? `Measured with ${each.tools.join(" and ")}; Mote ${page.data.mote}.` : `Not measured: ${each.reason}`),
    ...each.warnings.map((warning) => el("p", {}, `Warning: ${warning}`)));
});
