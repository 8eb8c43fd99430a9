/* Preprocessing of samples as mote.frontends.features does it: the same steps in the same order, in float64, rounded once to
   float32. A sample is {values, shape, rate}. */

const prepare = (() => {
  const size = (shape) => shape.reduce((a, b) => a * b, 1);
  const sizes = (text) => text.toLowerCase().split("x").map(Number);
  const by = (call) => (sample, step) => ({ ...sample, values: Float64Array.from(sample.values, (x, i) => call(x, step, i)) });

  /* [height, width, channels] of an image. */
  function image({ values, shape }) {
    const whole = shape.length === 2 ? [...shape, 1] : shape;
    if (whole.length !== 3) throw new Error(`the sample is ${shape.join("x")}, no image`);
    return { values, shape: whole };
  }

  /* [samples] of one channel: the mean of several. */
  function sound({ values, shape }) {
    if (shape.length > 2) throw new Error(`the sample is ${shape.join("x")}, no sound`);
    const channels = shape[1] || 1;
    return Float64Array.from({ length: shape[0] }, (_, i) => {
      let sum = 0;
      for (let c = 0; c < channels; c++) sum += values[i * channels + c];
      return sum / channels;
    });
  }
  const heard = (sample, values) => ({ ...sample, values, shape: [values.length] });

  function perChannel(call) {
    return (sample, { values }) => {
      const channels = sample.shape[sample.shape.length - 1];
      if (values.length !== 1 && values.length !== channels) throw new Error(`${values.length} numbers for ${channels} channels`);
      return by((x, _, i) => call(x, values[values.length === 1 ? 0 : i % channels]))(sample);
    };
  }

  /* An axis of a resized image, as mote.ir.ops.features.images has it: of each of `wanted` pixels the first of the `given`
     ones that it is made of, and their weights of 2^22. */
  const ONE = 2 ** 22;
  const part = (above, below) => Number((2n * BigInt(above) * BigInt(ONE) + BigInt(below)) / (2n * BigInt(below)));
  const AXES = {
    nearest: (given, wanted, i) => [Math.floor(((2 * i + 1) * given) / (2 * wanted)), [ONE]],
    bilinear: (given, wanted, i) => {
      const below = 2 * wanted, at = Math.min(Math.max((2 * i + 1) * given - wanted, 0), (given - 1) * below);
      const first = Math.min(Math.floor(at / below), Math.max(given - 2, 0)), rest = at - first * below;
      return [first, given > 1 ? [part(below - rest, below), part(rest, below)] : [ONE]];
    },
    antialias: (given, wanted, i) => {
      const ratio = given / wanted, support = Math.max(ratio, 1), middle = (i + 0.5) * ratio;
      const first = Math.max(Math.trunc(middle - support + 0.5), 0), end = Math.min(Math.trunc(middle + support + 0.5), given);
      const weights = Array.from({ length: end - first }, (_, k) =>
        Math.max(1 - Math.abs((first + k - middle + 0.5) * (1 / support)), 0));
      const sum = weights.reduce((a, b) => a + b);
      return [first, weights.map((weight) => Math.trunc(0.5 + (weight / sum) * ONE))];
    },
    area: (given, wanted, i) => {
      const begin = i * given, end = begin + given, first = Math.floor(begin / wanted), last = Math.ceil(end / wanted);
      return [first, Array.from({ length: last - first }, (_, k) =>
        part(Math.min(end, (first + k + 1) * wanted) - Math.max(begin, (first + k) * wanted), given))];
    },
  };

  /* `lines` lines of `given` pixels of `step` values each, of `wanted` pixels. */
  function resampled(values, lines, given, wanted, step, method) {
    const made = new Float64Array(lines * wanted * step);
    for (let i = 0; i < wanted; i++) {
      const [first, weights] = AXES[method](given, wanted, i);
      for (let y = 0; y < lines; y++)
        for (let c = 0; c < step; c++) {
          let sum = ONE / 2;
          weights.forEach((weight, k) => (sum += weight * (weight ? values[(y * given + first + k) * step + c] : 0)));
          made[(y * wanted + i) * step + c] = Math.floor(sum / ONE);
        }
    }
    return made;
  }

  function resize(sample, { size, method }) {
    const [width, height] = sizes(size);
    const { values, shape: [h, w, c] } = image(sample);
    const across = resampled(values, h, w, width, c, method);
    return { ...sample, values: resampled(across, 1, h, height, width * c, method), shape: [height, width, c] };
  }

  function crop(sample, { size, x, y }) {
    const [width, height] = sizes(size);
    const { values, shape: [h, w, c] } = image(sample);
    const top = y < 0 ? Math.floor((h - height) / 2) : y, left = x < 0 ? Math.floor((w - width) / 2) : x;
    if (top < 0 || left < 0 || top + height > h || left + width > w) throw new Error(`the image is ${w}x${h}, less than ${size}`);
    const rows = Array.from({ length: height }, (_, row) =>
      Array.from(values.slice(((top + row) * w + left) * c, ((top + row) * w + left + width) * c)));
    return { ...sample, values: Float64Array.from(rows.flat()), shape: [height, width, c] };
  }

  function gray(sample) {
    const { values, shape: [h, w, c] } = image(sample);
    if (c === 1) return sample;
    const made = Float64Array.from({ length: h * w }, (_, i) =>
      Math.floor((19595 * values[i * c] + 38470 * values[i * c + 1] + 7471 * values[i * c + 2] + 32768) / 65536));
    return { ...sample, values: made, shape: [h, w, 1] };
  }

  /* The image that a camera gives: of its size, in colours that its format has. */
  const COLOURS = {
    rgb888: (x) => x,
    bgr888: (x) => x,
    rgb565: (x, green) => (green ? (x & 0xfc) | (x >> 6) : (x & 0xf8) | (x >> 5)),
  };
  function camera(sample, { size, format }) {
    const called = format.replace("565be", "565");
    if (called !== "gray8" && !COLOURS[called]) throw new Error(`lines of ${format} are not computed here`);
    const { values, shape: [h, w, c] } = image(sample);
    const coloured = c === 1 ? { values: Float64Array.from({ length: 3 * h * w }, (_, i) => values[Math.floor(i / 3)]), shape: [h, w, 3] }
      : { values, shape: [h, w, c] };
    const seen = resize({ ...sample, ...coloured }, { size, method: "antialias" });
    if (called === "gray8") return gray(seen);
    return { ...seen, values: seen.values.map((x, i) => COLOURS[called](x, i % 3 === 1)) };
  }

  function channelsFirst(sample) {
    const { values, shape: [h, w, c] } = image(sample);
    const made = Float64Array.from({ length: h * w * c }, (_, i) => values[(i % (h * w)) * c + Math.floor(i / (h * w))]);
    return { ...sample, values: made, shape: [c, h, w] };
  }

  function peak(sample) {
    const values = sound(sample);
    const largest = values.reduce((a, b) => Math.max(a, b), 0);
    return heard(sample, largest > 0 ? values.map((x) => x / largest) : values);
  }

  function length(sample, { samples }) {
    const made = new Float64Array(samples);
    made.set(sound(sample).subarray(0, samples));
    return heard(sample, made);
  }

  function reshape(sample, step) {
    const rows = sample.rate ? sample.shape.slice(0, 1) : [];
    const shape = [...rows, ...step.sizes];
    if (size(shape) !== sample.values.length) throw new Error(`${sample.shape.join("x")} values cannot be ${shape.join("x")}`);
    return { ...sample, shape };
  }

  const STEPS = {
    "float": (sample) => sample,
    "scale": by((x, { factor }) => x * factor),
    "offset": by((x, { value }) => x + value),
    "mean": perChannel((x, value) => x - value),
    "std": perChannel((x, value) => x / value),
    "clip": by((x, { low, high }) => Math.min(high, Math.max(low, x))),
    "shape": reshape,
    "camera": camera,
    "gray": gray,
    "resize": resize,
    "crop": crop,
    "channels-first": channelsFirst,
    "mono": (sample) => heard(sample, sound(sample)),
    "peak": peak,
    "length": length,
    "pre-emphasis": (sample, { factor }) => {
      const values = sound(sample);
      return heard(sample, values.map((x, i) => (i ? x - factor * values[i - 1] : x)));
    },
  };

  /* A sample after all steps. */
  function apply(sample, steps) {
    const made = steps.reduce((before, step) => STEPS[step.name](before, step), sample);
    return { ...made, values: Float32Array.from(made.values) };
  }

  return { apply, image, size, STEPS };
})();
