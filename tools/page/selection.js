//===- selection.js - One selection through everything ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What is chosen is a list of paths, a kernel, or both: the paths inside of the
// kernel. Every view asks what of it is lit, and is told when that changes. The
// selection, the open view and its two stages are the fragment of the page's
// address, so that a link leads back to them.

"use strict";

class Selection {
  constructor(model) {
    this.model = model;
    this.paths = [];
    this.kernel = null;
    this.listeners = [];
    this.functionPaths = new Map();
  }

  get isEmpty() {
    return this.paths.length === 0 && this.kernel === null;
  }

  /// Calls `listener` now and after every change.
  watch(listener) {
    this.listeners.push(listener);
    listener();
  }

  set(paths, kernel = null) {
    if (kernel === this.kernel && paths.join() === this.paths.join()) {
      return;
    }
    this.paths = paths;
    this.kernel = kernel;
    this.functionPaths.clear();
    this.listeners.forEach((listener) => listener());
  }

  clear() {
    this.set([]);
  }

  /// What is meant by the selection: without paths, all that the kernel holds.
  get meant() {
    return this.paths.length || this.kernel === null ? this.paths : this.model.kernels[this.kernel].holds;
  }

  /// The paths that code of this function has where it does what is meant.
  pathsOf(symbol) {
    if (!this.functionPaths.has(symbol)) {
      const all = this.model.bySymbol.get(symbol);
      const users = this.kernel === null ? all : all.filter((kernel) => kernel.number === this.kernel);
      const paths = users.flatMap((kernel) => pathsInFunction(kernel, all[0], this.meant));
      this.functionPaths.set(symbol, [...new Set(paths)]);
    }
    return this.functionPaths.get(symbol);
  }

  /// Whether a line of a stage is lit.
  lights(line) {
    if (line.paths) {
      return line.paths.some((path) => this.touches(path));
    }
    if (this.kernel !== null && !this.isIn(line)) {
      return false;
    }
    const isWhole = this.kernel !== null && this.paths.length === 0;
    if (isWhole && (line.kernel !== null || line.symbol)) {
      return true;
    }
    const paths = line.symbol ? this.pathsOf(line.symbol) : this.meant;
    return line.path !== null && paths.some((path) => isBelow(line.path, path));
  }

  /// Whether a line may be of the kernel: before kernels are formed, any may.
  isIn(line) {
    const chosen = this.model.kernels[this.kernel];
    if (line.kernel !== null) {
      return this.model.kernels[line.kernel].contents === chosen.contents;
    }
    return !line.symbol || line.symbol === chosen.symbol;
  }

  /// Whether a layer, or what stands at a path, has to do with it.
  touches(path) {
    return this.meant.some((chosen) => isBelow(path, chosen) || isBelow(chosen, path));
  }

  lightsKernel(kernel) {
    if (this.kernel !== null) {
      return this.kernel === kernel.number;
    }
    return kernel.holds.some((held) => this.touches(held));
  }
}

//===----------------------------------------------------------------------===//
// The address
//===----------------------------------------------------------------------===//

/// The state of a page as a fragment, and back. What an address names and the
/// document does not have is left out.
class Address {
  constructor(selection, view) {
    this.selection = selection;
    this.view = view; // tab, left, right: strings
    window.addEventListener("hashchange", () => this.read());
  }

  /// Takes the selection and the view from the address.
  read() {
    const words = new URLSearchParams(location.hash.slice(1));
    const number = Number(words.get("kernel") ?? NaN);
    const kernel = this.selection.model.kernels[number] ? number : null;
    const paths = words.getAll("path").filter((path) => this.selection.model.layers.some((layer) => isBelow(layer.path, path) || isBelow(path, layer.path)));
    this.view.open(words.get("tab"), words.get("left"), words.get("right"));
    this.selection.set(paths, kernel);
  }

  write() {
    const words = new URLSearchParams();
    words.set("tab", this.view.tab);
    this.selection.paths.forEach((path) => words.append("path", path));
    if (this.selection.kernel !== null) {
      words.set("kernel", this.selection.kernel);
    }
    if (this.view.tab === "phases") {
      words.set("left", this.view.left);
      words.set("right", this.view.right);
    }
    // In the frame of a notebook a page has no address that could be changed.
    if (location.protocol !== "about:" && location.hash.slice(1) !== words.toString()) {
      history.replaceState(null, "", `#${words}`);
    }
  }
}

//===----------------------------------------------------------------------===//
// What is chosen, in words
//===----------------------------------------------------------------------===//

/// Whether a layer, or a group of them, is fused.
function verdictOf(sites, kernels) {
  const apart = sites.filter((site) => !site.fused).length;
  if (sites.length === 0) {
    return kernels.length ? { text: "in a kernel", state: "joined" } : { text: "no kernel", state: "none" };
  }
  if (apart === 0) {
    return { text: "fused", state: "fused" };
  }
  return { text: sites.length === 1 ? "not fused" : `${apart} of ${sites.length} not fused`, state: "apart" };
}

const verdictMark = ({ text, state }) => make("span", { class: `verdict ${state}` }, text);

/// The panel that says what is known of the selection.
class Inspector {
  constructor(model, selection, stages, view) {
    Object.assign(this, { model, selection, stages, view });
    this.element = make("aside", { id: "inspector", "aria-label": "Selection", "aria-live": "polite" });
    selection.watch(() => this.render());
  }

  link(path) {
    return make("a", { href: `#path=${encodeURIComponent(path)}`, click: (event) => (event.preventDefault(), this.selection.set([path])) }, path);
  }

  kernelLink(kernel) {
    return make("a", { href: `#kernel=${kernel.number}`, click: (event) => (event.preventDefault(), this.selection.set([], kernel.number)) }, `${kernel.number} ${kernel.name}`);
  }

  render() {
    if (this.selection.isEmpty) {
      put(this.element, make("p", { class: "hint" }, "Choose a layer, a line or a kernel: it lights up everywhere."));
      return;
    }
    const { paths, kernel } = this.selection;
    put(
      this.element,
      make("button", { class: "close", title: "Clear the selection (Escape)", click: () => this.selection.clear() }, "✕"),
      kernel === null ? null : this.describeKernel(this.model.kernels[kernel]),
      paths.length ? this.describePaths(paths) : null,
      this.describeSource(),
      this.stageLinks(),
    );
  }

  describePaths(paths) {
    const layers = this.model.layers.filter((layer) => paths.some((path) => isBelow(layer.path, path)));
    const inside = layers.length ? layers : paths.map((path) => this.model.layerOf(path)).filter((layer) => layer);
    const sum = (key) => layers.reduce((total, layer) => total + layer[key], 0);
    const only = inside.length === 1 ? inside[0] : null;
    const kernels = this.model.kernelsOf(paths);
    const ms = this.model.times && paths.length === 1 ? this.model.times.get(paths[0]) : null;
    return [
      make("h2", {}, paths.length === 1 ? paths[0] : `${count(paths.length, "layer")} at once`),
      paths.length > 1 ? make("p", {}, paths.map((path, at) => [at ? ", " : "", this.link(path)])) : null,
      only && only.path !== paths[0] ? make("p", {}, "a part of ", this.link(only.path)) : null,
      make("dl", {},
        only ? this.entry("operator", only.kind) : this.entry("layers", grouped(layers.length)),
        only?.line ? this.entry("declared", `${only.file}:${only.line}:${only.column}`) : null,
        only ? this.entry("shape", `${shapeText(only.input_shape)} → ${shapeText(only.output_shape)}`) : null,
        only ? this.entry("reads", only.reads.map((path, at) => [at ? ", " : "", this.link(path)])) : null,
        layers.length ? this.entry("parameters", grouped(sum("parameters"))) : null,
        layers.length ? this.entry("MACs", grouped(sum("macs"))) : null,
        ms ? this.entry("time", `${measured(ms.ms * 1e3)} µs${ms.divided ? " *" : ""}`) : null,
        this.entry("kernels", kernels.length ? kernels.slice(0, 12).map((entry) => make("div", {}, this.kernelLink(entry))) : only?.became || "none"),
      ),
      ms?.divided ? make("p", { class: "note" }, "* parts of kernels that compute other layers too: their time is divided by counted work") : null,
      this.verdicts(paths),
    ];
  }

  entry(term, ...definition) {
    return [make("dt", {}, term), make("dd", {}, definition)];
  }

  /// What became of every site here, why, and what would change it.
  verdicts(paths) {
    const here = (entry) => paths.some((path) => isBelow(entry.path, path) || isBelow(path, entry.path));
    const isWritten = (site) => site.parts.some((part) => here({ path: part }));
    const sites = [...this.model.written.filter(isWritten), ...this.model.sites.filter(here)].sort((a, b) => a.fused - b.fused);
    const declined = this.model.rewrites.filter((rewrite) => !rewrite.fired && here(rewrite));
    return [
      sites.slice(0, 40).map((site) => make("section", { class: "site" },
        make("h3", {}, `${site.kind} ${site.path} `, verdictMark({ text: site.kernels.length ? (site.fused ? "fused" : "not fused") : "needs no kernel", state: site.fused ? "fused" : "apart" })),
        site.why ? make("p", {}, site.why) : null,
        site.joined.length ? make("p", {}, "with ", site.joined.map((path, at) => [at ? ", " : "", this.link(path)])) : null,
        site.apart.map(({ path, why }) => make("p", { class: "apart" }, "not with ", this.link(path), `: ${why}`)))),
      declined.slice(0, 20).map((rewrite) => make("section", { class: "site" },
        make("h3", {}, `${rewrite.pass} at ${rewrite.path} `, verdictMark({ text: "declined", state: "none" })),
        make("p", {}, rewrite.why),
        make("p", {}, `it fires if ${rewrite.fires_if}`))),
    ];
  }

  describeKernel(kernel) {
    const equal = this.model.bySymbol.get(kernel.symbol);
    return [
      make("h2", {}, `kernel ${kernel.number}: ${kernel.name}`),
      make("dl", {},
        this.entry("function", kernel.symbol),
        equal.length > 1 ? this.entry("also run by", equal.filter((other) => other !== kernel).map((other) => make("div", {}, this.kernelLink(other)))) : null,
        this.entry("holds", kernel.holds.map((path, at) => [at ? ", " : "", this.link(path)]))),
    ];
  }

  /// The lines of the description that declare what is chosen.
  describeSource() {
    const { text } = this.model.data.description;
    const layers = this.model.layers.filter((layer) => layer.line && this.selection.touches(layer.path));
    const spans = new Map(layers.map((layer) => [`${layer.line}-${layer.last_line}`, layer]));
    const lines = text.split("\n");
    return [...spans.values()].slice(0, 4).map(({ line, last_line }) => make("pre", { class: "source" }, lines.slice(line - 1, last_line).map((text, at) => `${String(line + at).padStart(4)}  ${text}\n`)));
  }

  stageLinks() {
    return make("p", { class: "stage-links" }, "see it in ", this.stages.names.map((name, at) => [at ? " · " : "", make("a", { href: `#tab=phases&right=${name}`, click: (event) => (event.preventDefault(), this.view.open("phases", null, name)) }, this.stages.titles.get(name))]));
  }
}
