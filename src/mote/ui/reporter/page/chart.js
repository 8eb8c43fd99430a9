/* Charts: a frame with axes, whose scales map values to the page. */

/* At most about `most` round values from lo to hi; `binary`: in steps of powers of two. */
function roundValues(lo, hi, most, binary = false) {
  let step = binary ? 1 : 10 ** Math.floor(Math.log10(Math.max(hi - lo, 1e-12) / most));
  for (const factor of binary ? Array(60).fill(2) : [2, 2.5, 2]) {
    if ((hi - lo) / step <= most) break;
    step *= factor;
  }
  const values = [];
  for (let k = Math.ceil(lo / step - 1e-9); k * step <= hi + step * 1e-9; k++) values.push(k * step + 0);
  return values;
}

/* An SVG with axes as wide as `root`. x and y: {lo, hi, name, format, binary}; lengths begin at 0 unless lo is given.
   Returns {root, x, y, left, right, top, bottom}, with scales x(value) and y(value). */
function chartFrame(page, root, { height = 260, label, x, y, left = 64, bottom = 40, top = y.name ? 28 : 12, right = 16 }) {
  const width = Math.max(280, root.clientWidth || 720);
  const canvas = page.svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label });
  const frame = { root: canvas, left, right: width - right, top, bottom: height - bottom };
  const scale = (axis, from, to) => (value) => from + ((value - (axis.lo || 0)) / (axis.hi - (axis.lo || 0) || 1)) * (to - from);
  frame.x = scale(x, frame.left, frame.right);
  frame.y = scale(y, frame.bottom, frame.top);
  const line = (x1, y1, x2, y2, kind) => canvas.append(page.svg("line", { x1, y1, x2, y2, class: kind }));
  const text = (x, y, anchor, said, kind = "quiet") =>
    canvas.append(page.svg("text", { x, y, "text-anchor": anchor, class: kind }, said));
  for (const value of y.ticks || roundValues(y.lo || 0, y.hi, Math.max(2, height / 50), y.binary)) {
    line(frame.left, frame.y(value), frame.right, frame.y(value), "grid");
    text(frame.left - 6, frame.y(value) + 4, "end", y.format(value));
  }
  const room = Math.max(2, Math.floor((frame.right - frame.left) / 80));
  for (const value of x.ticks || roundValues(x.lo || 0, x.hi, room, x.binary)) {
    line(frame.x(value), frame.top, frame.x(value), frame.bottom, "grid");
    text(frame.x(value), frame.bottom + 16, frame.x(value) > width - 40 ? "end" : "middle", x.format(value));
  }
  line(frame.left, frame.bottom, frame.right, frame.bottom, "axis");
  line(frame.left, frame.top, frame.left, frame.bottom, "axis");
  text((frame.left + frame.right) / 2, height - 6, "middle", x.name, "");
  if (y.name) text(0, 12, "start", y.name, "");
  root.append(canvas);
  return frame;
}
