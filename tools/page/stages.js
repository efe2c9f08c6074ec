//===- stages.js - The texts of a compilation, line by line ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A stage is the description, the IR after a phase, or the code. Of every line
// it knows the path in the model and the kernel, which the texts themselves say:
// IR by its locations, code by the comments of its blocks.

"use strict";

/// A line of a stage: what is shown, `path` (null: of no layer), and where it
/// stands: `kernel`, by its number, or `symbol`, the function of a kernel.
class Stage {
  constructor(name, promise, language) {
    Object.assign(this, { name, promise, language, lines: [] });
  }
}

const LOCATION = /^(#loc\d*) = loc\((.*)\)$/;
const STRING = /"(?:[^"\\]|\\.)*"/y;

/// What MLIR's text escapes: a backslash, or one and the byte in two digits.
function unescapeMlir(text) {
  if (!text.includes("\\")) {
    return text;
  }
  const bytes = [];
  for (const [, escaped, hexadecimal, plain] of text.matchAll(/\\(?:([\\"nt])|([0-9A-Fa-f]{2}))|([^\\]+)/g)) {
    bytes.push(...(hexadecimal ? [parseInt(hexadecimal, 16)] : new TextEncoder().encode(escaped ?? plain)));
  }
  return new TextDecoder().decode(Uint8Array.from(bytes));
}

/// What a location names: of names over names the innermost, which is the layer
/// (the others are of values in it), and of what was fused the first. `names`
/// has what aliases name; null: nothing.
function pathOfLocation(text, names) {
  let path = null, end = 0;
  for (const found of text.matchAll(/"((?:[^"\\]|\\.)*)"(\(?)|#loc\d*/g)) {
    const [word, name, opens] = found;
    if (path !== null && found.index !== end) {
      break;
    }
    if (name === undefined) {
      path = names.get(word) ?? path;
    } else if (opens || word === text) {
      path = unescapeMlir(name);
      end = found.index + word.length;
      continue;
    }
    if (path !== null) {
      break;
    }
  }
  return path;
}

/// What every alias of a location names.
function readLocations(lines) {
  const texts = new Map();
  for (const line of lines) {
    const found = LOCATION.exec(line);
    if (found) {
      texts.set(found[1], found[2]);
    }
  }
  const names = new Map();
  // An alias may be used above the line that says what it is.
  const resolve = (alias) => {
    if (!names.has(alias)) {
      names.set(alias, null);
      const text = texts.get(alias) ?? "";
      (text.match(/#loc\d*/g) ?? []).forEach(resolve);
      names.set(alias, pathOfLocation(text, names));
    }
  };
  [...texts.keys()].forEach(resolve);
  return names;
}

/// A line without its locations, and the one that it ends with, or null.
function withoutLocations(raw) {
  let text = "", last = null, at = 0;
  while (at < raw.length) {
    const start = raw.indexOf(" loc(", at), quote = raw.indexOf('"', at);
    if (quote >= 0 && (start < 0 || quote < start)) {
      STRING.lastIndex = quote;
      const end = STRING.test(raw) ? STRING.lastIndex : raw.length;
      text += raw.slice(at, end);
      at = end;
      continue;
    }
    if (start < 0) {
      return { text: text + raw.slice(at), last: null };
    }
    text += raw.slice(at, start);
    at = endOfBrackets(raw, start + 5);
    last = raw.slice(start + 5, at - 1);
  }
  return { text, last };
}

/// After the bracket that closes what is open before `at`.
function endOfBrackets(raw, at) {
  for (let depth = 1; at < raw.length && depth > 0; ++at) {
    if (raw[at] === '"') {
      STRING.lastIndex = at;
      at = STRING.test(raw) ? STRING.lastIndex - 1 : raw.length;
    } else {
      depth += raw[at] === "(" ? 1 : raw[at] === ")" ? -1 : 0;
    }
  }
  return at;
}

const indentOf = (line) => line.length - line.trimStart().length;

/// The IR after a phase. A region's first line has the location of its last.
function readIr(name, promise, text, model) {
  const stage = new Stage(name, promise, "ir");
  const all = text.split("\n");
  const names = readLocations(all);
  const open = []; // regions: their first line and indentation
  let inResources = false;
  for (const raw of all) {
    inResources ||= raw === "{-#";
    if (inResources || LOCATION.test(raw) || raw === "") {
      continue; // the description at the end is a stage of its own
    }
    const { text: shown, last } = withoutLocations(raw);
    const line = { text: shown, path: last === null ? null : pathOfLocation(last, names), kernel: null, symbol: null };
    const indent = indentOf(raw);
    if (raw.startsWith("}", indent) && open.length && open.at(-1).indent === indent) {
      const first = open.pop();
      first.line.path ??= line.path;
      line.kernel = first.line.kernel;
      line.symbol = first.line.symbol;
    }
    const outer = open.at(-1)?.line;
    line.kernel ??= outer?.kernel ?? null;
    line.symbol ??= outer?.symbol ?? null;
    nameKernel(line, model);
    if (raw.endsWith("{")) {
      open.push({ line, indent });
    }
    stage.lines.push(line);
  }
  return stage;
}

/// Lines that begin a kernel, a kernel's function, or launch one.
function nameKernel(line, model) {
  const kernel = /hova\.kernel "((?:[^"\\]|\\.)*)"/.exec(line.text);
  const launch = /hova\.launch @("?)([\w.$-]+)\1\(.*?\) "((?:[^"\\]|\\.)*)"/.exec(line.text);
  const symbol = /(?:func\.func|llvm\.func|gpu\.func)(?: \w+)* @([\w.$-]+)/.exec(line.text);
  if (kernel || launch) {
    const name = unescapeMlir(kernel ? kernel[1] : launch[3]);
    line.path = name;
    line.kernel = model.kernels.find((entry) => entry.name === name && (!launch || entry.symbol === launch[2]))?.number ?? null;
  } else if (symbol && model.bySymbol.has(symbol[1])) {
    line.symbol = symbol[1];
  }
}

/// The code. `kernel_x.0.digits:` begins a function; a block's comment has the
/// path: `# %"early.0.attn, stage 1; loop over rows"`.
function readCode(name, text, model) {
  const stage = new Stage(name, "what runs", "code");
  let symbol = null, path = null;
  for (const raw of text.split("\n")) {
    const label = /^(?:\.visible \.entry |\.entry )?([A-Za-z_][\w$]*)(?:\.\d+\.[\w$]+)?[:(]/.exec(raw);
    if (label) {
      symbol = model.bySymbol.has(label[1]) ? label[1] : null;
      path = symbol ? model.bySymbol.get(symbol)[0].name : null;
    }
    const block = /.*(?:#|\/\/) %"?([^",;]+)/.exec(raw);
    if (block && symbol) {
      path = block[1].replace(/ \(\d+\)$/, "");
    }
    if (raw !== "") {
      stage.lines.push({ text: raw.replaceAll("\t", "    "), path: symbol ? path : null, kernel: null, symbol });
    }
    if (/^\.Lfunc_end|^}/.test(raw)) {
      symbol = path = null;
    }
  }
  return stage;
}

/// The description. A line is of the innermost layer that it is a part of; repeated
/// blocks declare several layers on one line, of which `paths` has all.
function readDescription(file, text, model) {
  const stage = new Stage(file, "the description", "json");
  stage.lines = text.split("\n").map((line) => ({ text: line, path: null, kernel: null, symbol: null, paths: [], span: Infinity }));
  for (const layer of model.layers) {
    const span = layer.last_line - layer.line;
    for (let at = layer.line; layer.line && at <= layer.last_line; ++at) {
      const line = stage.lines[at - 1];
      if (line && span <= line.span) {
        line.paths = span < line.span ? [layer.path] : [...line.paths, layer.path];
        line.path = line.paths[0];
        line.span = span;
      }
    }
  }
  return stage;
}

/// The stages of a model in order, and the sides of passes within them; each is
/// read when it is first looked at.
class Stages {
  constructor(model) {
    const { description, phases, code } = model.data;
    this.model = model;
    this.read = new Map();
    this.makers = new Map([["description", async () => readDescription(description.file, description.text, model)]]);
    for (const { name, promise } of phases) {
      this.makers.set(name, async () => readIr(name, promise, await unpack(name), model));
    }
    this.makers.set("code", async () => readCode(code.kind, await unpack("code"), model));
    this.titles = new Map([...this.makers.keys()].map((name) => [name, name]));
    this.titles.set("description", description.file);
    this.titles.set("code", code.kind);
    this.phases = phases.map(({ name }) => name);
    this.passes = new Map();
  }

  get names() {
    return [...this.makers.keys()];
  }

  has(name) {
    return this.makers.has(name) || this.phases.includes(PASS_SIDE.exec(name)?.[1]);
  }

  /// The phase that a stage is, or is of; null: of none.
  phaseOf(name) {
    const phase = PASS_SIDE.exec(name)?.[1] ?? name;
    return this.phases.includes(phase) ? phase : null;
  }

  /// The passes of a phase that changed something.
  async passesOf(phase) {
    if (!this.passes.has(phase)) {
      this.passes.set(phase, unpack(`${phase}-passes`).then((text) => new PhasePasses(JSON.parse(text))));
    }
    return this.passes.get(phase);
  }

  async get(name) {
    if (!this.read.has(name)) {
      this.read.set(name, this.makers.get(name)?.() ?? this.readPass(name));
    }
    return this.read.get(name);
  }

  /// A side of a pass; one that there is not is empty.
  async readPass(name) {
    const [, phase, number, side] = PASS_SIDE.exec(name);
    const passes = await this.passesOf(phase);
    const pass = passes.passes[number];
    const text = pass ? passes.textOf(number, side) : "";
    return readIr(name, `${side} ${pass?.name ?? "a pass that changed nothing"}`, text, this.model);
  }
}
