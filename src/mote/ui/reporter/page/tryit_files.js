/* Files that a user drops: WAV as mote.frontends.data.readers.sounds reads it, .npy, and text with numbers. */

const dropped = (() => {
  const letters = (view, at, count) => String.fromCharCode(...Array.from({ length: count }, (_, i) => view.getUint8(at + i)));

  /* Samples from -1 to 1: {values, shape: [samples] or [samples, channels], rate}. */
  function wav(buffer) {
    const view = new DataView(buffer);
    const broken = (why) => new Error(`is no whole WAV file: ${why}`);
    if (buffer.byteLength < 12 || letters(view, 0, 4) !== "RIFF" || letters(view, 8, 4) !== "WAVE") throw broken("it does not begin as one does");
    const chunks = {};
    for (let at = 12; at + 8 <= buffer.byteLength; ) {
      const kind = letters(view, at, 4), bytes = view.getUint32(at + 4, true);
      if (at + 8 + bytes > buffer.byteLength) throw broken("it is cut off");
      chunks[kind] ??= new DataView(buffer, at + 8, bytes);
      at += 8 + bytes + (bytes % 2);
    }
    const form = chunks["fmt "], data = chunks.data;
    if (!form || !data || form.byteLength < 16) throw broken("it has no format or no samples");
    let code = form.getUint16(0, true);
    if (code === 0xfffe && form.byteLength >= 26) code = form.getUint16(24, true);
    const channels = form.getUint16(2, true), rate = form.getUint32(4, true), bits = form.getUint16(14, true);
    const read = {
      "1/8": (at) => (data.getUint8(at) - 128) / 128,
      "1/16": (at) => data.getInt16(at, true) / 2 ** 15,
      "1/24": (at) => (data.getUint16(at, true) + data.getInt8(at + 2) * 65536) / 2 ** 23,
      "1/32": (at) => data.getInt32(at, true) / 2 ** 31,
      "3/32": (at) => data.getFloat32(at, true),
    }[`${code}/${bits}`];
    if (!read) throw new Error(`holds ${bits}-bit samples of the format ${code}: save it as PCM of 8, 16, 24 or 32 bits`);
    const bytes = bits / 8;
    if (!channels || !rate || !data.byteLength || data.byteLength % (bytes * channels)) throw broken("its samples are cut off");
    const values = Float32Array.from({ length: data.byteLength / bytes }, (_, i) => read(i * bytes));
    return { values, shape: channels === 1 ? [values.length] : [values.length / channels, channels], rate };
  }

  const TYPES = {
    b1: Uint8Array, i1: Int8Array, u1: Uint8Array, i2: Int16Array, u2: Uint16Array, i4: Int32Array, u4: Uint32Array,
    i8: BigInt64Array, u8: BigUint64Array, f4: Float32Array, f8: Float64Array,
  };

  /* An array of NumPy's: {values, shape, real}. */
  function npy(buffer) {
    const view = new DataView(buffer);
    if (buffer.byteLength < 10 || letters(view, 1, 5) !== "NUMPY") throw new Error("is no .npy file");
    const wide = view.getUint8(6) > 1;
    const begin = wide ? 12 : 10, bytes = wide ? view.getUint32(8, true) : view.getUint16(8, true);
    const head = begin + bytes <= buffer.byteLength ? letters(view, begin, bytes) : "";
    const [, type] = head.match(/'descr': '[<|]?([a-z]\d)'/) || [];
    const [, sizes] = head.match(/'shape': \(([\d, ]*)\)/) || [];
    if (!TYPES[type] || sizes === undefined || head.includes("'fortran_order': True"))
      throw new Error("is an array of a type or order that this page does not read: save it with numpy.ascontiguousarray");
    const shape = sizes.split(",").filter((x) => x.trim()).map(Number);
    const count = shape.reduce((a, b) => a * b, 1), body = buffer.slice(begin + bytes);
    if (body.byteLength < count * TYPES[type].BYTES_PER_ELEMENT) throw new Error("is cut off");
    const values = new TYPES[type](body, 0, count);
    return { values: type[1] === "8" && type[0] !== "f" ? Float64Array.from(values, Number) : values, shape, real: type[0] === "f" };
  }

  /* Numbers between commas, semicolons, spaces or lines. */
  function numbers(text) {
    const words = text.split(/[\s,;]+/).filter(Boolean);
    const values = words.map(Number);
    const wrong = values.findIndex((x) => !Number.isFinite(x));
    if (wrong >= 0) throw new Error(`'${words[wrong].slice(0, 20)}' is no number`);
    return { values: Float64Array.from(values), shape: [values.length], real: true };
  }

  /* Red, green and blue from 0 to 255 of what a canvas can draw: [height, width, 3]. */
  function pixels(source, width, height) {
    const canvas = document.createElement("canvas");
    Object.assign(canvas, { width, height });
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(source, 0, 0, width, height);
    const { data } = context.getImageData(0, 0, width, height);
    const values = new Float32Array(width * height * 3);
    for (let i = 0; i < width * height; i++) for (let c = 0; c < 3; c++) values[i * 3 + c] = data[i * 4 + c];
    return { values, shape: [height, width, 3] };
  }

  async function picture(file) {
    let bitmap;
    try {
      bitmap = await createImageBitmap(file, { colorSpaceConversion: "none" });
    } catch {
      throw new Error("is no picture that this browser reads");
    }
    return pixels(bitmap, bitmap.width, bitmap.height);
  }

  return { wav, npy, numbers, pixels, picture };
})();
