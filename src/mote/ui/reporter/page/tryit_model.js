/* The model in the page: WebAssembly of the generated C, its inputs and outputs as arrays, and the vectors that it is
   checked with. */

const webModel = (() => {
  const ARRAYS = {
    int8: Int8Array, uint8: Uint8Array, bool: Uint8Array, int16: Int16Array, uint16: Uint16Array, int32: Int32Array,
    uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array, float32: Float32Array, complex64: Float32Array,
  };
  const { bytes } = report.page;
  const array = (port, text) => new ARRAYS[port.dtype](bytes(text).buffer);
  const isWide = (port) => port.dtype.endsWith("int64");

  const breathe = () => new Promise((resolve) => setTimeout(resolve));

  /* The model, compiled when the page has been shown. */
  const load = (data) => breathe().then(() => WebAssembly.compile(bytes(data.module))).then((compiled) => start(data, compiled));

  /* An instance with memory of its own. */
  async function start(data, compiled) {
    const { exports } = await WebAssembly.instantiate(compiled);
    const { memory, harness_init, harness_input, harness_output, harness_run } = exports;
    const succeed = (status) => {
      if (status !== 0) throw new Error(`the model ended with the status ${status}`);
    };
    const place = (port, address) =>
      new ARRAYS[port.dtype](memory.buffer, address, port.size * (port.dtype === "complex64" ? 2 : 1));
    const restart = () => succeed(harness_init());

    /* The outputs for inputs, both typed arrays. States of a stream go on from the inference before. */
    function run(inputs) {
      data.inputs.forEach((port, i) => place(port, harness_input(i)).set(inputs[i]));
      succeed(harness_run());
      return data.outputs.map((port, i) => place(port, harness_output(i)).slice());
    }

    restart();
    return { run, restart, data, compiled };
  }

  /* Pseudo-random codes from -128 to 127, a formula that Python computes as well (mote.compiler.emit.c.programs.golden). */
  function codes(count, number, { seed, strength, coarse }) {
    return Int32Array.from({ length: count }, (_, i) => {
      let x = Math.imul((i >>> coarse) + seed + number, 0x9e3779b1);
      x = Math.imul(x ^ (x >>> 15), 0x85ebca77);
      return Math.min(127, Math.max(-128, (((x >>> 24) * strength) >> 7) - strength));
    });
  }

  function patterned(port, number, pattern) {
    const { step, offset, scale } = port.codes || {};
    const made = Array.from(codes(port.size, number, pattern), (code) => {
      if (port.codes) return Math.fround(Math.fround(code * step + offset) * Math.fround(scale));
      if (port.bounds) return port.bounds[0] + ((code + 128) % (port.bounds[1] - port.bounds[0] + 1));
      return port.dtype === "bool" ? code & 1 : code;
    });
    if (port.dtype === "complex64") return Float32Array.from(made.flatMap((x) => [x, 0]));
    return ARRAYS[port.dtype].from(made, isWide(port) ? BigInt : undefined);
  }

  /* Random inputs over all values that an input can have. */
  function random(port) {
    const made = Float64Array.from({ length: port.size }, () => port.low + Math.random() * (port.high - port.low));
    return taken(port, { values: port.scale || port.dtype === "float32" ? made : made.map(Math.round), real: true });
  }

  /* Values as an input takes them: real ones are quantized as NAME_quantize does it, halves away from zero, and NaN
     as 0. */
  function taken(port, { values, real = true }) {
    if (values.length !== port.size) throw new Error(`has ${values.length} values, and the input takes ${port.size} (${port.shape.join("x")})`);
    if (port.dtype === "float32") return Float32Array.from(values);
    if (!real || !port.scale) {
      const made = ARRAYS[port.dtype].from(values, isWide(port) ? BigInt : undefined);
      if (made.some((x, i) => Number(x) !== Number(values[i]))) throw new Error(`has values that are no ${port.dtype}`);
      return made;
    }
    const [least, most] = port.limits, scale = Math.fround(port.scale);
    return ARRAYS[port.dtype].from(values, (x) => {
      const steps = Math.fround(Math.fround(x) / scale);
      if (Number.isNaN(steps)) return port.zero;
      const rounded = Math.sign(steps) * Math.floor(Math.abs(steps) + 0.5) + port.zero;
      return Math.min(most, Math.max(least, rounded));
    });
  }

  /* Real numbers that an array stands for. */
  const real = (port, values) =>
    Array.from(values, (x) => (port.scale ? Math.fround(Math.fround(port.scale) * (Number(x) - port.zero)) : Number(x)));

  const samePart = (port, allowed, a, b) => {
    let apart = 0;
    for (let i = 0; i < a.length; i++)
      if (a[i] !== b[i] && !(Number.isNaN(a[i]) && Number.isNaN(b[i]))) apart = Math.max(apart, Math.abs(Number(a[i] - b[i])));
    return { exact: apart === 0, passed: apart <= allowed, apart };
  };

  /* Runs all vectors one after another: how many were compared, how many were equal, how many within rounding, and
     milliseconds of an inference. An instance of its own leaves that of the user alone. */
  async function check({ data, compiled }) {
    const model = await start(data, compiled);
    const { inputs, outputs, checks, samples } = data;
    const result = { compared: 0, exact: 0, passed: 0, apart: 0 };
    const compare = (given, expected, allowed) => {
      const made = model.run(given);
      if (!expected) return;
      const parts = outputs.map((port, i) => samePart(port, allowed[i], made[i], array(port, expected[i])));
      result.compared += 1;
      result.exact += parts.every((part) => part.exact);
      result.passed += parts.every((part) => part.passed);
      result.apart = Math.max(result.apart, ...parts.map((part) => part.apart));
    };
    for (const { pattern, expected, allowed } of checks) {
      compare(inputs.map((port, i) => patterned(port, i, pattern)), expected, allowed);
      await breathe();
    }
    for (const { pieces, expected, allowed } of samples.filter((sample) => sample.expected)) {
      model.restart();
      compare(pieces[0].map((text, i) => array(inputs[i], text)), expected, allowed);
      await breathe();
    }
    return { ...result, milliseconds: await timed(model) };
  }

  /* Milliseconds of an inference: the least mean of rounds within a few tenths of a second, in which browsers compile the
     code a second time. */
  async function timed(model) {
    const given = model.data.inputs.map((port, i) => patterned(port, i, model.data.checks[0].pattern));
    let best = Infinity, runs = 1;
    for (const end = performance.now() + 300; performance.now() < end || best === Infinity; await breathe()) {
      const start = performance.now();
      for (let i = 0; i < runs; i++) model.run(given);
      const spent = performance.now() - start;
      if (spent < 5) runs *= 2;
      else best = Math.min(best, spent / runs);
    }
    return best;
  }

  /* Features of a sound by the C of the device: {values, shape: [rows, columns]}. Sounds are integers there, of one
     channel: the mean of all, halves up. */
  async function features(front, { values, shape, rate }) {
    if (rate !== front.rate) throw new Error(`has ${rate} samples a second, and the model takes ${front.rate}`);
    const channels = shape[1] || 1, size = front.inputs[0].size;
    const sample = (i) => Math.min(32767, Math.max(-32768, Math.round(values[i] * 32768)));
    const mono = (at) => {
      let sum = channels;
      for (let c = 0; c < channels; c++) sum += 2 * sample(at * channels + c);
      return Math.floor(sum / (2 * channels));
    };
    const { before } = front; // Zeros, so that the first whole frame begins with the sound.
    const heard = Int16Array.from({ length: before + (front.clip || shape[0]) },
      (_, at) => (at >= before && at - before < shape[0] ? mono(at - before) : 0));
    const model = await load(front);
    const rows = [];
    for (let at = 0; at + size <= heard.length || !at; at += size) {
      if (heard.length < size && !front.clip) throw new Error("is too short for a frame");
      const [made] = model.run([Int16Array.from({ length: size }, (_, i) => heard[at + i] || 0)]);
      rows.push(...(at / size < front.missing ? [] : made));
    }
    const of = (name, column, missing) => front.line[name][column % front.line[name].length] ?? missing;
    const made = Float32Array.from(rows, (x, i) => {
      const column = i % front.columns;
      const real = x * of("factor", column) + of("offset", column);
      return Math.fround(Math.min(of("high", column, Infinity), Math.max(of("low", column, -Infinity), real)));
    });
    return { values: made, shape: [made.length / front.columns, front.columns] };
  }

  return { load, check, random, taken, real, array, features };
})();
