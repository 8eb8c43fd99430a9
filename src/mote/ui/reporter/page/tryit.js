/* The model in the page: draw, drop, record or type an input, and see the outputs that the device computes. */

const tryIt = {
  nodes: null,
  /* Inputs and outputs of the inferences that are shown. */
  last: null,

  /* Values in the model's order as the code has them: channels last, where the model has them first. */
  arranged(port, values) {
    if (!port.moved) return values;
    const [, channels, ...rest] = port.shape, count = prepare.size(rest), block = channels * count;
    return values.map((_, i) => values[i - (i % block) + (i % channels) * count + Math.floor((i % block) / channels)]);
  },

  /* Inputs of consecutive inferences from frames in the order of time: windows that each begin a frame later, or, for a
     model that remembers, frames one after another. */
  windows(port, { values, shape }, stateful) {
    const frames = shape[0], size = values.length / frames;
    let along = port.shape.findIndex((n) => n > 1 && n * size === port.size);
    if (along < 0 && size === port.size) along = 0;
    if (along < 0) throw new Error(`makes frames of ${size} values, of which the input of ${port.shape.join("x")} cannot be made`);
    const length = port.size / size, after = prepare.size(port.shape.slice(along + 1));
    if (frames < length) throw new Error(`makes ${frames} frames, and the model takes ${length}: record or drop a longer sound`);
    const made = [];
    for (let first = 0; first + length <= frames; first += stateful ? length : 1) {
      const piece = new Float32Array(port.size);
      for (let f = 0; f < length; f++)
        for (let i = 0; i < size; i++)
          piece[(Math.floor(i / after) * length + f) * after + (i % after)] = values[(first + f) * size + i];
      made.push(piece);
    }
    return made;
  },

  /* A picture of an input: as it is where it is one, else brightness by value. */
  paint(canvas, port, picture, values) {
    const real = webModel.real(port, values);
    const plain = port.shape.filter((n) => n > 1);
    const [height, width, channels] = picture || (plain.length === 2 ? [...plain, 1] : [1, real.length, 1]);
    if (height * width * channels !== real.length) return;
    const least = Math.min(...real), most = Math.max(...real);
    const last = port.moved || port.shape[port.shape.length - 1] === channels;
    const turned = !picture && height > width;
    Object.assign(canvas, turned ? { width: height, height: width } : { width, height });
    const context = canvas.getContext("2d"), image = context.createImageData(canvas.width, canvas.height);
    for (let y = 0; y < height; y++)
      for (let x = 0; x < width; x++) {
        const at = 4 * (turned ? (width - 1 - x) * height + y : y * width + x);
        for (let c = 0; c < 3; c++) {
          const k = channels === 1 ? 0 : c, i = last ? (y * width + x) * channels + k : (k * height + y) * width + x;
          image.data[at + c] = (255 * (real[i] - least)) / (most - least || 1);
        }
        image.data[at + 3] = 255;
      }
    context.putImageData(image, 0, 0);
  },
};

/* The section is built once: what a reader drew or typed stays when the page is rendered again. */
report.section("tryit", (root, { whole }, page) => root.append(...(tryIt.nodes ??= tryIt.build(whole, page))));

tryIt.build = (whole, page) => {
  const { el, format } = page;
  if (whole.reason)
    return [el("p", {}, `The model does not run in this page: ${whole.reason}.`), el("p", {}, whole.remedy ? "To have it here: " : "", el("code", {}, whole.remedy))];
  const { inputs, outputs, samples } = whole;
  const port = inputs[0];
  const how = whole.prepare || { kind: "features", steps: [], text: "", assumed: "" };
  const button = (text, call, more = {}) => el("button", { type: "button", on: { click: () => attempt(text, call) }, ...more }, text);
  const checked = el("p", { role: "status", class: "tryit-checked" }, "Checking the model in this browser ...");
  const wrong = el("p", { role: "alert", class: "tryit-wrong" });
  const seen = el("canvas", { class: "tryit-seen", role: "img", "aria-label": "The input as the model takes it", hidden: true });
  const moment = el("div", {});
  const results = el("div", { "aria-live": "polite", class: "tryit-results" }, el("p", { class: "quiet" }, "Outputs appear here."));
  const running = webModel.load(whole);
  const FEW = 24;
  const isFew = inputs.length === 1 && how.kind === "features" && port.size <= FEW;
  let filled = () => {};

  async function attempt(what, call) {
    wrong.textContent = "";
    try {
      await call();
    } catch (error) {
      wrong.textContent = `${what}: ${error.message}`;
    }
  }

  /* Runs inferences one after another, each from the initial states unless the model remembers, and shows one. */
  async function run(name, pieces) {
    const model = await running;
    model.restart();
    const made = pieces.map((piece) => model.run(piece));
    tryIt.last = { pieces, made };
    filled(pieces[0]);
    const best = pieces.length > 1 ? strongest(made) : 0;
    const show = (i) => {
      if (inputs.length === 1) tryIt.paint(seen, port, how.picture, pieces[i][0]);
      seen.hidden = inputs.length > 1 || isFew;
      const begun = i >= whole.warm;
      results.replaceChildren(...(begun ? shown(name, made[i])
        : [el("p", {}, `${name}: no outputs yet. The stream fills its window with the first ${whole.warm + 1} inferences.`)]));
    };
    const label = (i) => `${i + 1} of ${pieces.length}`;
    moment.replaceChildren();
    if (pieces.length > 1) {
      const cursor = timeline(made);
      const at = el("output", {}, label(best));
      const slider = el("input", { type: "range", min: 0, max: pieces.length - 1, value: best, on: {
        input: () => { at.textContent = label(Number(slider.value)); cursor(Number(slider.value)); show(Number(slider.value)); } } });
      moment.append(el("p", { class: "tryit-moment" }, el("label", {}, "Inference ", slider), at));
      cursor(best);
    }
    show(best);
  }

  /* The first output over consecutive inferences, of the few classes that reach most; the result moves its cursor. */
  function timeline(made) {
    const MOST_LINES = 4;
    const [output] = outputs;
    const rows = made.slice(whole.warm).map(([first]) => webModel.real(output, first));
    if (rows.length < 2) return () => {};
    const most = (k) => rows.reduce((best, row) => Math.max(best, row[k]), -Infinity);
    const chosen = rows[0].map((_, k) => k).sort((a, b) => most(b) - most(a) || a - b).slice(0, MOST_LINES).sort((a, b) => a - b);
    const named = chosen.map((k) => output.labels[k] || `${k}`);
    const all = rows.flatMap((row) => chosen.map((k) => row[k]));
    const lo = all.reduce((a, b) => Math.min(a, b), 0), hi = all.reduce((a, b) => Math.max(a, b), lo + 1e-9);
    const frame = chartFrame(page, moment, { height: 170, label: `Output ${output.name} over ${made.length} inferences: ${named.join(", ")}`,
      x: { lo: whole.warm + 1, hi: made.length, name: "inference", format: format.number }, y: { lo, hi, format: format.digits } });
    const line = page.svg("line", { y1: frame.top, y2: frame.bottom, class: "tryit-cursor" });
    chosen.forEach((k, n) => frame.root.append(page.svg("polyline", { class: `tryit-line-${n + 1}`,
      points: rows.map((row, i) => `${frame.x(i + whole.warm + 1).toFixed(1)},${frame.y(row[k]).toFixed(1)}`).join(" ") })));
    frame.root.append(line);
    moment.append(el("p", { class: "tryit-legend" }, named.map((name, n) => el("span", {}, el("span", { class: `tryit-swatch tryit-line-${n + 1}`, "aria-hidden": "true" }), name))));
    return (i) => ["x1", "x2"].forEach((end) => line.setAttribute(end, frame.x(i + 1)));
  }

  /* The inference with the largest value of its first output, once a stream has begun. */
  function strongest(made) {
    const top = made.map(([first]) => first.reduce((a, b) => (b > a ? b : a)));
    let best = Math.min(whole.warm, made.length - 1);
    for (let i = best; i < made.length; i++) if (top[i] > top[best]) best = i;
    return best;
  }

  const MOST = 12;
  function shown(name, made) {
    return outputs.flatMap((output, k) => {
      const real = webModel.real(output, made[k]), raw = Array.from(made[k], Number);
      const order = real.map((_, i) => i).sort((a, b) => real[b] - real[a] || a - b);
      const listed = real.length <= MOST ? real.map((_, i) => i) : order.slice(0, MOST);
      const title = (i) => (real.length === 1 ? output.name : output.labels[i] || `${i}`);
      const low = Math.min(0, ...listed.map((i) => real[i])), high = Math.max(low + 1e-12, ...listed.map((i) => real[i]));
      const said = real.length > 1 ? `${name}: ${title(order[0])} is highest, ${format.digits(real[order[0]])}`
        : `${name}: ${output.labels[real[0]] || format.digits(real[0])}`;
      const bar = (i) => el("span", { class: "tryit-bar", "aria-hidden": "true" },
        el("span", { style: `width: ${Math.max(0, (100 * (real[i] - low)) / (high - low)).toFixed(1)}%`, class: i === order[0] ? "tryit-top" : "" }));
      return [
        el("p", {}, el("strong", {}, said)),
        page.table(`Output ${output.name}`, [real.length > 1 ? "class" : "output", el("span", { class: "unseen" }, "bar"), "value", ...(output.scale ? [output.dtype] : [])],
          listed.map((i) => [title(i), bar(i), format.digits(real[i]), ...(output.scale ? [`${raw[i]}`] : [])])),
        real.length > MOST ? el("p", { class: "quiet" }, `The ${MOST} largest of ${real.length} values.`) : null,
      ].filter(Boolean);
    });
  }

  /* Inputs. */
  const one = (values) => [[webModel.taken(port, { values })]];
  const picture = (name, pixels) => run(name, one(tryIt.arranged(port, prepare.apply(pixels, how.steps).values)));
  const sound = async (name, heard) => {
    const made = whole.front ? await webModel.features(whole.front, heard) : prepare.apply(heard, how.steps);
    return run(name, tryIt.windows(port, made, whole.stateful).map((values) => [webModel.taken(port, { values: tryIt.arranged(port, values) })]));
  };
  function numbers(name, { values, real }) {
    if (values.length % port.size || !values.length)
      throw new Error(`has ${values.length} values, and the input takes ${port.size} (${port.shape.join("x")})`);
    const pieces = [];
    for (let at = 0; at < values.length; at += port.size) {
      const piece = tryIt.arranged(port, values.slice(at, at + port.size));
      pieces.push([webModel.taken(port, { values: piece, real: real || !piece.every(Number.isInteger) })]);
    }
    return run(name, pieces);
  }

  const refuse = (is) => {
    const takes = { picture: "pictures", sound: "sounds", features: "numbers" }[how.kind];
    const why = how.kind === "features" && !how.unknown ? ". A report made with --data and --preprocess knows how inputs are made of it" : "";
    throw new Error(how.unknown ? `is ${is}, and this page cannot run ${how.unknown}, which inputs are made with` : `is ${is}, and this model takes ${takes}${why}`);
  };
  async function take(file) {
    const buffer = await file.arrayBuffer();
    const head = String.fromCharCode(...new Uint8Array(buffer.slice(0, 6)));
    if (head.startsWith("RIFF") && file.type !== "image/webp") return how.kind === "sound" ? sound(file.name, dropped.wav(buffer)) : refuse("a sound");
    if (head.slice(1) === "NUMPY") return numbers(file.name, dropped.npy(buffer));
    if (file.type.startsWith("image/")) return how.kind === "picture" ? picture(file.name, await dropped.picture(file)) : refuse("a picture");
    if (file.type.startsWith("audio/")) return how.kind === "sound" ? sound(file.name, await decoded(buffer)) : refuse("a sound");
    if (buffer.byteLength > 1 << 24) throw new Error("is no picture, sound, .npy or text with numbers");
    return numbers(file.name, dropped.numbers(new TextDecoder().decode(buffer)));
  }
  async function decoded(buffer) {
    const made = await new OfflineAudioContext(1, 1, how.rate).decodeAudioData(buffer).catch(() => { throw new Error("is no sound that this browser reads"); });
    return resampled(made);
  }
  async function resampled(buffer) {
    const context = new OfflineAudioContext(1, Math.ceil(buffer.duration * how.rate), how.rate);
    const source = context.createBufferSource();
    source.buffer = buffer;
    source.connect(context.destination);
    source.start();
    const made = await context.startRendering();
    return { values: made.getChannelData(0), shape: [made.length], rate: how.rate };
  }

  const accepts = { picture: "image/*,.npy", sound: "audio/*,.wav,.npy", features: ".npy,.csv,.txt" }[how.kind];
  const chosen = (event) => {
    const [file] = event.target.files;
    if (file) attempt(file.name, () => take(file));
    event.target.value = "";
  };
  const panel = el("div", { class: "tryit-inputs" });
  const place = (...nodes) => panel.append(el("div", { class: "tryit-row" }, ...nodes));
  if (how.draw) panel.append(drawing());
  if (inputs.length === 1)
    place(el("label", {}, { picture: "Picture: drop it here, or choose a file ", sound: "Sound: drop a WAV file here, or choose one ", features: "Drop a .npy or .csv file here, or choose one " }[how.kind],
      el("input", { type: "file", id: "tryit-file", accept: accepts, on: { change: chosen } })));
  if (how.kind === "picture" && navigator.mediaDevices) panel.append(camera());
  if (how.kind === "sound" && navigator.mediaDevices) panel.append(microphone());
  if (how.kind === "features") panel.append(fields());
  place(button("Random input", () => run("Random input", Array.from({ length: whole.warm + 1 }, () => inputs.map(webModel.random))), { id: "tryit-random" }));

  panel.addEventListener("dragover", (event) => { event.preventDefault(); panel.classList.add("tryit-over"); });
  panel.addEventListener("dragleave", () => panel.classList.remove("tryit-over"));
  panel.addEventListener("drop", (event) => {
    event.preventDefault();
    panel.classList.remove("tryit-over");
    const [file] = event.dataTransfer.files;
    if (file && inputs.length === 1) attempt(file.name, () => take(file));
  });

  /* A canvas to draw on with a pointer, or with keys: arrows move the pen, Space puts it down or lifts it. */
  function drawing() {
    const SIDE = 224;
    const [height, width] = how.picture;
    const canvas = el("canvas", { id: "tryit-draw", tabindex: 0, role: "application", class: "tryit-draw",
      "aria-label": "Drawing: drag to draw. Arrow keys move the pen, Space puts it down or lifts it." });
    canvas.width = SIDE;
    canvas.height = Math.round((SIDE * height) / width);
    const context = canvas.getContext("2d", { willReadFrequently: true });
    const light = el("input", { type: "checkbox", checked: how.paper === "light", on: { change: () => clear() } });
    let pen = null, down = false;
    const colours = () => (light.checked ? ["#fff", "#000"] : ["#000", "#fff"]);
    function clear() {
      [pen, down] = [null, false];
      context.fillStyle = colours()[0];
      context.fillRect(0, 0, canvas.width, canvas.height);
    }
    function line(to) {
      Object.assign(context, { strokeStyle: colours()[1], lineWidth: SIDE / 9, lineCap: "round", lineJoin: "round" });
      context.beginPath();
      context.moveTo(pen.x, pen.y);
      context.lineTo(to.x + 0.01, to.y);
      context.stroke();
      pen = to;
    }
    const read = () => attempt("Drawing", () => picture("Drawing", dropped.pixels(canvas, canvas.width, canvas.height)));
    const at = (event) => {
      const box = canvas.getBoundingClientRect();
      return { x: ((event.clientX - box.x) / box.width) * canvas.width, y: ((event.clientY - box.y) / box.height) * canvas.height };
    };
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); pen = at(event); down = true; line(pen); });
    canvas.addEventListener("pointermove", (event) => { if (down && event.buttons) line(at(event)); });
    canvas.addEventListener("pointerup", () => { if (down) read(); down = false; });
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (event.key !== " " && !step) return;
      event.preventDefault();
      pen ??= { x: canvas.width / 2, y: canvas.height / 2 };
      if (!step) {
        down = !down;
        page.announce(down ? "Pen down" : "Pen up");
        if (down) line(pen);
      } else {
        const to = { x: Math.min(canvas.width, Math.max(0, pen.x + (step[0] * SIDE) / 28)), y: Math.min(canvas.height, Math.max(0, pen.y + (step[1] * SIDE) / 28)) };
        if (down) line(to);
        pen = to;
      }
      if (!down || step) read();
    });
    clear();
    return el("div", { class: "tryit-row" }, canvas,
      el("div", {}, el("p", {}, "Draw here."), button("Clear", () => { clear(); seen.hidden = true; results.replaceChildren(); moment.replaceChildren(); }),
        el("p", {}, el("label", {}, light, " dark on light"))));
  }

  function camera() {
    const row = el("div", { class: "tryit-row" });
    const start = button("Camera", async () => {
      const stream = await navigator.mediaDevices.getUserMedia({ video: true });
      const video = el("video", { class: "tryit-video", muted: true, playsinline: true, "aria-label": "Camera" });
      const end = () => { stream.getTracks().forEach((track) => track.stop()); row.replaceChildren(start); };
      const shoot = button("Take the picture", async () => {
        const [height, width] = how.picture, scale = Math.min(video.videoWidth / width, video.videoHeight / height);
        const bitmap = await createImageBitmap(video, (video.videoWidth - width * scale) / 2, (video.videoHeight - height * scale) / 2, width * scale, height * scale);
        await picture("Camera", dropped.pixels(bitmap, bitmap.width, bitmap.height));
      }, { id: "tryit-shoot" });
      row.replaceChildren(video, shoot, button("Close the camera", end));
      video.srcObject = stream;
      await video.play();
    }, { id: "tryit-camera" });
    row.append(start);
    return row;
  }

  function microphone() {
    const wanted = how.steps.find((step) => step.name === "length");
    const seconds = wanted ? wanted.samples / how.rate : 2;
    const record = button(`Record ${format.digits(seconds)} s`, async () => {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1, echoCancellation: false, noiseSuppression: false, autoGainControl: false } });
      const context = new AudioContext();
      record.disabled = true;
      try {
        const count = Math.ceil(seconds * context.sampleRate);
        const heard = context.createBuffer(1, count, context.sampleRate), values = heard.getChannelData(0);
        await new Promise((done) => {
          // A worklet would be a second file.
          const node = context.createScriptProcessor(1024, 1, 1);
          let at = 0;
          node.onaudioprocess = ({ inputBuffer }) => {
            values.set(inputBuffer.getChannelData(0).subarray(0, count - at), at);
            at = Math.min(count, at + inputBuffer.length);
            if (at === count) { node.onaudioprocess = null; done(); }
          };
          context.createMediaStreamSource(stream).connect(node).connect(context.destination);
        });
        await sound("Recording", await resampled(heard));
      } finally {
        record.disabled = false;
        stream.getTracks().forEach((track) => track.stop());
        await context.close();
      }
    }, { id: "tryit-record" });
    return el("div", { class: "tryit-row" }, record, el("span", { class: "quiet" }, `at ${format.number(how.rate)} samples a second`));
  }

  /* A field for each feature, or one for all where there are many. */
  function fields() {
    const groups = inputs.map((port) => (port.size <= FEW ? few(port) : many(port)));
    const made = () => groups.map(({ read }, i) => {
      try {
        return webModel.taken(inputs[i], { values: tryIt.arranged(inputs[i], dropped.numbers(read()).values) });
      } catch (error) {
        throw new Error(inputs.length > 1 ? `${inputs[i].name} ${error.message}` : error.message);
      }
    });
    filled = (piece) => groups.forEach(({ fill }, i) => fill(piece[i]));
    return el("div", {}, groups.map(({ node }) => node),
      el("div", { class: "tryit-row" }, button("Run", () => run("Values", [made()]), { id: "tryit-run" })));
  }
  function few(port) {
    const each = Array.from({ length: port.size }, () => el("input", { type: "number", step: "any", value: 0 }));
    const name = (i) => port.labels[i] || (port.size > 1 ? `${inputs.length > 1 ? port.name : "feature"} ${i}` : port.name);
    return {
      node: el("div", { class: "tryit-fields" }, each.map((input, i) => el("label", {}, el("span", {}, name(i)), input))),
      read: () => each.map((input) => input.value).join(" "),
      fill: (values) => webModel.real(port, values).forEach((x, i) => { each[i].value = Number(x.toPrecision(9)); }),
    };
  }
  function many(port) {
    const text = el("textarea", { rows: 4, spellcheck: "false" });
    const said = `${inputs.length > 1 ? port.name : "Values"}: ${port.size} numbers (${port.shape.join("x")}), with commas or spaces between`;
    return { node: el("label", {}, said, text), read: () => text.value, fill: () => {} };
  }

  function gallery() {
    const each = samples.map(({ name, label, pieces: texts }) => {
      const short = label === null ? name.split("/").pop() : label;
      const pieces = texts.map((piece) => piece.map((text, i) => webModel.array(inputs[i], text)));
      const thumb = el("canvas", { "aria-hidden": "true", class: "tryit-thumb" });
      if (inputs.length === 1 && !isFew && pieces.length === 1) tryIt.paint(thumb, port, how.picture, pieces[0][0]);
      else thumb.hidden = true;
      const node = button(short, () => run(label === null ? name : `${name} (${label})`, pieces),
        { class: "tryit-sample", title: name, "aria-label": short === name ? name : `${short}: ${name}` });
      node.prepend(thumb);
      return node;
    });
    return [el("h3", {}, "Samples of the data"), el("div", { class: "tryit-samples" }, each)];
  }

  const steps = (said, text) => (text ? [said, el("code", {}, text), ". "] : []);
  const made = how.kind === "features" ? [] : [el("p", { class: "quiet" },
    steps("Inputs are made as the data declares: ", how.text),
    steps(how.text ? "Beside that, the page assumes " : "No data declares how inputs are made; the page assumes ", how.assumed))];
  const nodes = [
    el("p", {}, `The C of this model for ${whole.target} runs in this page as WebAssembly, compiled with ${whole.compiler}; kernels in assembly have equivalent C. Nothing is sent anywhere.`),
    checked,
    el("div", { class: "tryit" }, panel, el("div", { class: "tryit-outputs" }, el("h3", {}, "Outputs"), wrong, seen, moment, results)),
    ...(samples.length ? gallery() : []),
    ...made,
  ];

  running.then(webModel.check).then((result) => {
    const good = result.passed === result.compared;
    const same = result.exact === result.compared ? "bit for bit" : `within rounding of float32 (largest difference ${result.apart.toPrecision(2)}; ${result.exact} bit for bit)`;
    checked.classList.add(good ? "tryit-good" : "tryit-bad");
    checked.textContent = good
      ? `Checked in this browser: ${result.passed} of ${result.compared} inputs give the outputs of ${whole.reference} ${same}. ${format.seconds(result.milliseconds / 1e3)} an inference here.`
      : `Wrong in this browser: ${result.compared - result.passed} of ${result.compared} inputs do not give the outputs of ${whole.reference} (largest difference ${result.apart}).`;
    checked.dataset.checked = good ? "good" : "bad";
  }).catch((error) => {
    checked.classList.add("tryit-bad");
    checked.textContent = `This browser cannot run the model: ${error.message}`;
  });
  return nodes;
};
