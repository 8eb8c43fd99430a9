/* Cost of each layer: a bar of its cycles, and a table that can be sorted. */

report.section("cost", (root, { each }, page) => {
  const { el, format } = page;
  const series = [[1, "multiplications", "multiply"], [2, "loads and stores", "memory"], [3, "other instructions", "other"],
    [4, "waits for constants", "constants"], [5, "waits for code", "code"]];
  const metered = new Map((each.metered ? each.metered.layers : []).map(([numbers, energy]) => [numbers[0], { numbers, energy }]));
  const rows = each.layers.map(([number, name, cycles, instructions, code, constants, multiply, memory, other], index) => {
    const layer = page.layerOf(number);
    return { layer: layer ? number : null, name: layer ? `${number} ${layer.short}` : name || "input",
      cycles, instructions, code, constants, multiply, memory, other,
      estimate: each.joules ? each.joules[index] : null, metered: metered.get(number) };
  });
  const sum = rows.reduce((all, row) => all + row.cycles, 0);
  const total = each.measured ? each.cycles : sum;
  const most = Math.max(...rows.map((row) => row.cycles), 1);
  const mixed = rows.every((row) => row.multiply !== null);
  const waits = each.measured ? each.waits[0] + each.waits[1] : 0;
  const shown = series.filter(([, , field]) => mixed && rows.some((row) => row[field] > 0));
  const parts = (row) => (mixed ? shown.map(([index, , field]) => [index, row[field]]) : [[1, row.cycles]]);
  const said = (row) => `${format.number(row.cycles)} cycles${shown.map(([, name, field]) => `, ${name} ${format.percent(row[field] / Math.max(row.cycles, 1))}`).join("")}`;
  const joules = (micro) => (micro < 1000 ? `${format.digits(micro)} µJ` : `${format.digits(micro / 1000)} mJ`);
  const together = ({ numbers, energy }) => `${joules(energy)}${numbers.length > 1 ? ` (${numbers.join(", ")} together)` : ""}`;
  const plain = (name, field) => ({ name, value: (row) => row[field], show: (row) => format.number(row[field]) });
  const ofCycles = (name, show) => ({ name, value: (row) => row.cycles, show: (row) => show(row.cycles) });
  const columns = [
    { name: "Layer", value: (row) => row.name, show: (row) => row.name },
    { name: `0 to ${format.count(most)} cycles`, value: (row) => row.cycles, show: (row) => stackedBar(page, parts(row), most, said(row)) },
    plain(each.measured ? "Cycles" : "Estimate", "cycles"),
    ofCycles("Share", (cycles) => format.percent(cycles / Math.max(total, 1))),
    each.measured ? plain("Instructions", "instructions") : null,
    waits ? plain("Waits, constants", "constants") : null,
    waits ? plain("Waits, code", "code") : null,
    each.clock_hz ? ofCycles("Time", (cycles) => format.seconds(cycles / each.clock_hz)) : null,
    each.joules ? { name: "Energy", value: (row) => row.estimate, show: (row) => joules(row.estimate) } : null,
    metered.size ? { name: "Measured energy", value: (row) => (row.metered ? row.metered.energy : 0),
      show: (row) => (row.metered ? together(row.metered) : "") } : null,
  ].filter(Boolean);
  const seconds = each.clock_hz ? `, ${format.seconds(total / each.clock_hz)} at ${each.clock_hz / 1e6} MHz` : "";
  const energy = each.microjoules ? `, about ${joules(each.microjoules)}` : "";
  const sure = each.metered && each.metered.interval !== null ? ` ± ${joules(each.metered.interval)}` : "";
  const waited = waits ? ` The core waits for flash in ${format.percent(waits / total)} of them.` : "";
  const counted = each.instructions === null ? "" : ` An inference takes ${format.number(each.instructions)} ${each.counted}.`;
  const about = [
    `Instructions were counted in an emulator. Cycles are those of ${each.rtl ? "" : "a model of the "}${each.core}: ${each.timing}. Memory: ${each.memory}.`,
    each.loads_known ? "" : "What was loaded from flash is not known: each constant is taken to be read once.",
    `Layers were measured in a second build, with markers between them: together they take ${format.number(sum)} cycles.`,
    each.microjoules ? `Energy is an estimate by ${each.energy}.` : `No energy: ${each.energy}.`,
    each.metered ? `A meter measured ${joules(each.metered.microjoules)}${sure} (${each.metered.about}).` : "",
  ].filter(Boolean).join(" ");
  root.append(...[
    el("p", {}, each.measured ? `An inference takes ${format.number(total)} cycles${seconds}${energy}.${waited}`
      : `Cycles were not measured: ${each.reason}. These are the planner's estimates, ${format.number(each.cycles)} ${each.unit} in all.${counted}`),
    shown.length ? barLegend(page, shown) : null,
    sortableTable(page, "Cost of each layer", columns, rows),
    each.measured ? el("p", { class: "quiet" }, about) : null,
  ].filter(Boolean));
}, { fluid: true });
