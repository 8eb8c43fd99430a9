/* A layered drawing of a directed graph without cycles: ranks by the longest path, few crossings by barycentres, columns
   by least squares. */

/* nodes: [{width, height, first, last}] in topological order, of which `first` are in the first rank and `last` in the
   last one; edges: [from, to]. Returns {width, height, x, y, lines}: the centre and the top of each node, and the points
   of each edge's line. Lines that pass a rank have a lane of their own there. */
function layered(nodes, edges, { gap = 28, rise = 30, lane = 18 } = {}) {
  const above = nodes.map(() => []);
  const below = nodes.map(() => []);
  for (const [from, to] of edges) { above[to].push(from); below[from].push(to); }
  const rank = nodes.map(() => 0);
  nodes.forEach((_, i) => { for (const from of above[i]) rank[i] = Math.max(rank[i], rank[from] + 1); });
  nodes.forEach((node, i) => {
    if (!above[i].length && below[i].length && !node.first) rank[i] = Math.min(...below[i].map((to) => rank[to])) - 1;
  });
  const deepest = Math.max(0, ...rank);
  nodes.forEach((node, i) => { if (node.last) rank[i] = deepest; });

  const rows = Array.from({ length: deepest + 1 }, () => []);
  const cells = nodes.map((node, i) => ({ width: node.width, weight: 40, up: [], down: [], row: rank[i] }));
  cells.forEach((cell) => rows[cell.row].push(cell));
  const chains = edges.map(([from, to]) => {
    const chain = [cells[from]];
    for (let row = rank[from] + 1; row < rank[to]; row++) {
      const cell = { width: lane, weight: 1, up: [], down: [], row };
      rows[row].push(cell);
      chain.push(cell);
    }
    chain.push(cells[to]);
    for (let k = 1; k < chain.length; k++) { chain[k].up.push(chain[k - 1]); chain[k - 1].down.push(chain[k]); }
    return chain;
  });

  orderRows(rows);
  for (const row of rows) {
    let at = 0;
    for (const cell of row) { cell.x = at + cell.width / 2; at += cell.width + gap; }
    for (const cell of row) cell.x -= at / 2;
  }
  for (let sweep = 0; sweep < 9; sweep++) {
    const downwards = sweep % 2 === 0;
    for (const row of downwards ? rows : [...rows].reverse()) settleRow(row, downwards ? "up" : "down", gap);
  }

  const left = Math.min(0, ...rows.flat().map((cell) => cell.x - cell.width / 2));
  const right = Math.max(0, ...rows.flat().map((cell) => cell.x + cell.width / 2));
  const heights = rows.map((_, k) => Math.max(0, ...nodes.filter((_, i) => rank[i] === k).map((node) => node.height)));
  const tops = [];
  heights.reduce((top, height) => { tops.push(top); return top + height + rise; }, 0);
  const y = nodes.map((node, i) => tops[rank[i]] + (heights[rank[i]] - node.height) / 2);
  const lines = chains.map((chain, e) => {
    const [from, to] = edges[e];
    const points = [[chain[0].x - left, y[from] + nodes[from].height]];
    for (const cell of chain) {
      if (cell !== chain[0]) points.push([cell.x - left, tops[cell.row]]);
      if (cell !== chain[chain.length - 1]) points.push([cell.x - left, tops[cell.row] + heights[cell.row]]);
    }
    return [...points, [chain[chain.length - 1].x - left, y[to]]];
  });
  return { width: right - left, height: tops[deepest] + heights[deepest], x: cells.map((cell) => cell.x - left), y, lines };
}

/* Orders the cells of each row by the mean place of their neighbours, and keeps the order with the fewest crossings. */
function orderRows(rows) {
  const number = () => rows.forEach((row) => row.forEach((cell, i) => { cell.place = i; }));
  const crossings = () => rows.reduce((sum, row) => {
    const ends = row.flatMap((cell) => cell.down.map((to) => [cell.place, to.place]));
    return sum + ends.reduce((n, [a, b], i) => n + ends.slice(i + 1).filter(([c, d]) => (a - c) * (b - d) < 0).length, 0);
  }, 0);
  number();
  let best = { count: crossings(), rows: rows.map((row) => [...row]) };
  for (let sweep = 0; sweep < 8 && best.count > 0; sweep++) {
    const side = sweep % 2 === 0 ? "up" : "down";
    for (const row of side === "up" ? rows : [...rows].reverse()) {
      const mean = new Map(row.map((cell) => {
        const places = cell[side].map((other) => other.place);
        return [cell, places.length ? places.reduce((a, b) => a + b) / places.length : cell.place];
      }));
      row.sort((a, b) => mean.get(a) - mean.get(b));
      row.forEach((cell, i) => { cell.place = i; });
    }
    const count = crossings();
    if (count < best.count) best = { count, rows: rows.map((row) => [...row]) };
  }
  rows.forEach((row, k) => row.splice(0, row.length, ...best.rows[k]));
}

/* Moves the cells of a row to below (or above) their neighbours, as near as their order and widths allow: least squares
   under x[i] + distance <= x[i + 1], by pooling neighbours that would be too near. */
function settleRow(row, side, gap) {
  const pools = [];
  let offset = 0;
  row.forEach((cell, i) => {
    if (i) offset += (row[i - 1].width + cell.width) / 2 + gap;
    const near = cell[side];
    const weight = near.reduce((sum, other) => sum + other.weight, 0);
    const wish = near.length ? near.reduce((sum, other) => sum + other.weight * other.x, 0) / weight : cell.x;
    pools.push({ at: wish - offset, weight: cell.weight, cells: [[cell, offset]] });
    while (pools.length > 1 && pools[pools.length - 2].at > pools[pools.length - 1].at) {
      const last = pools.pop();
      const pool = pools[pools.length - 1];
      pool.at = (pool.at * pool.weight + last.at * last.weight) / (pool.weight + last.weight);
      pool.weight += last.weight;
      pool.cells.push(...last.cells);
    }
  });
  for (const pool of pools) for (const [cell, shift] of pool.cells) cell.x = pool.at + shift;
}
