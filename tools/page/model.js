//===- model.js - The model as a graph that folds --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A row for every layer in the order of the description, within its blocks and
// repetitions; values flow along arcs at the left. Repetitions that are alike,
// and have the same verdicts, are one row until it is opened.

"use strict";

/// A block, a repetition of one, a layer, or a group of repetitions that are
/// `alike`, which stands between them and their `parent`.
class TreeNode {
  constructor(name, path, parent) {
    Object.assign(this, { name, path, parent, layer: null, children: [], isOpen: true, alike: null, group: null });
    this.depth = parent ? parent.depth + 1 : -1;
  }

  /// All layers here.
  *layers() {
    if (this.layer) {
      yield this.layer;
    }
    for (const child of this.children) {
      yield* child.layers();
    }
  }

  /// Equal for repetitions of which the same is to be said.
  get signature() {
    const self = this.layer ? [this.layer.kind, this.layer.output_shape, this.layer.parameters, this.layer.macs, this.layer.sites.map((site) => [site.kind, site.fused])] : null;
    return JSON.stringify([self, this.children.map((child) => [/^\d+$/.test(child.name) ? "" : child.name, child.signature])]);
  }
}

/// The nodes of layers by their paths; that of "" is the root.
function treeOf(layers) {
  const nodes = new Map([["", new TreeNode("", "", null)]]);
  const nodeAt = (path) => {
    if (!nodes.has(path)) {
      const dot = path.lastIndexOf(".");
      const parent = nodeAt(dot < 0 ? "" : path.slice(0, dot));
      const node = new TreeNode(path.slice(dot + 1), path, parent);
      nodes.set(path, node);
      parent.children.push(node);
    }
    return nodes.get(path);
  };
  for (const layer of layers) {
    nodeAt(layer.path).layer = layer;
  }
  foldAlike(nodes.get(""));
  return nodes;
}

/// Gives the second and later of repetitions that are alike a row for all.
function foldAlike(node) {
  const kept = [];
  let last = null;
  for (const child of node.children) {
    foldAlike(child);
    const signature = /^\d+$/.test(child.name) ? child.signature : null;
    if (signature !== null && signature === last) {
      let group = kept.at(-1);
      if (!group.alike) {
        group = new TreeNode("", `${node.path}.${child.name}…`, node);
        Object.assign(group, { alike: [], isOpen: false });
        kept.push(group);
      }
      group.alike.push(child);
      group.children.push(child);
      Object.assign(child, { group, isOpen: false });
      group.name = group.alike.length > 1 ? `${group.alike[0].name} – ${child.name}` : child.name;
    } else {
      kept.push(child);
    }
    last = signature;
  }
  node.children = kept;
}

const ROW_HEIGHT = 26; // pixels; that of `.node` in page.css
const LANE_WIDTH = 7;
const LANES = 9;

class ModelView {
  constructor(model, selection) {
    Object.assign(this, { model, selection });
    this.nodes = treeOf(model.layers);
    this.rows = [];
    this.arcs = make("svg", { class: "arcs", "aria-hidden": "true" });
    this.tree = make("div", { role: "tree", "aria-label": "Layers", tabindex: "0", keydown: (event) => this.press(event) });
    this.element = make("section", { id: "model", class: model.times ? "timed" : null }, this.head(), make("div", { class: "graph" }, this.columns(), this.arcs, this.tree));
    this.layOut();
    selection.watch(() => this.show());
  }

  head() {
    const { parameters, macs, inputs, outputs } = this.model.data.summary;
    const value = ({ name, dtype, shape }) => `${name}: ${dtype} ${shapeText(shape)}`;
    const apart = this.model.sites.filter((site) => !site.fused);
    return make("header", {},
      make("p", {}, `${inputs.map(value).join(", ")} → ${outputs.map(value).join(", ")}`),
      make("p", {}, `${grouped(parameters.trainable)} trained parameters, ${short(macs.linear + macs.attention)} multiply-accumulates, `,
        `${count(this.model.kernels.length, "kernel")}. `,
        apart.length ? make("strong", { class: "verdict apart" }, `${apart.length} of ${count(this.model.sites.length, "site")} not fused`) : `All ${count(this.model.sites.length, "site")} are fused.`));
  }

  columns() {
    const bar = this.model.times ? "of the time" : "of the MACs";
    const note = `What a row takes ${bar}. The longest bar is the costliest row; rows that are open have theirs below.`;
    return make("p", { class: "columns" }, ["layer", "operator", "result", "parameters", "MACs", this.model.times ? "time" : null, bar, "verdict"].filter((name) => name)
      .map((name) => make("span", { class: ["parameters", "MACs", "time"].includes(name) ? "number" : null, title: name === bar ? note : null }, name)));
  }

  /// What a row costs: measured, or its multiply-accumulates.
  costOf(node) {
    const paths = node.alike ?? [node];
    if (this.model.times) {
      return paths.reduce((total, { path }) => total + (this.model.times.get(path)?.ms ?? 0), 0);
    }
    return [...node.layers()].reduce((total, layer) => total + layer.macs, 0);
  }

  /// Whether what a row has is not shown by rows below it.
  static isWhole(node) {
    return !node.isOpen || node.children.length === 0;
  }

  /// The bar of a row, as long as its part of the costliest one.
  bar(node) {
    const cost = this.costOf(node);
    if (!cost || !ModelView.isWhole(node)) {
      return make("span", { class: "bar" });
    }
    const share = `${((100 * cost) / this.costs.all).toFixed(1)} %`;
    return make("span", { class: "bar", title: `${share} of ${this.model.times ? "the time in kernels" : "all multiply-accumulates"}` },
      make("span", { style: `width: ${((100 * cost) / this.costs.most).toFixed(2)}%` }));
  }

  /// Makes the rows of what is open.
  layOut() {
    this.rows = [];
    const visit = (node) => {
      if (node.parent) {
        this.rows.push(node);
      }
      if (node.isOpen) {
        node.children.forEach(visit);
      }
    };
    visit(this.nodes.get(""));
    this.rowOf = new Map(this.rows.map((node, index) => [node, index]));
    const costs = this.rows.filter(ModelView.isWhole).map((node) => this.costOf(node));
    this.costs = { most: Math.max(...costs, 0), all: this.model.benchmark?.ms ?? this.model.layers.reduce((total, layer) => total + layer.macs, 0) };
    put(this.tree, this.rows.map((node) => this.row(node)));
    this.drawArcs();
  }

  row(node) {
    const layers = [...node.layers()];
    const sum = (key) => layers.reduce((total, layer) => total + layer[key], 0);
    const written = node.layer || node.alike ? [] : this.model.written.filter((site) => isBelow(site.path, node.path));
    const sites = [...layers.flatMap((layer) => layer.sites), ...written];
    const kernels = layers.flatMap((layer) => layer.kernels ?? []);
    const verdict = verdictMark(verdictOf(sites, kernels));
    const why = sites.find((site) => !site.fused)?.why;
    const canFold = node.children.length > 0;
    const only = node.layer && layers.length === 1 ? node.layer : null;
    const times = (node.alike ?? [node]).map((one) => this.model.times?.get(one.path)).filter((time) => time);
    const ms = times.reduce((total, time) => total + time.ms, 0);
    return make("div", {
      class: `node${only ? " leaf" : ""}`, role: "treeitem", "data-path": node.path, "aria-level": String(node.depth + 1),
      "aria-expanded": canFold ? String(node.isOpen) : null, title: why ?? only?.became ?? null,
      click: (event) => this.choose(node, event.target.classList.contains("fold")),
      dblclick: () => canFold && this.fold(node, !node.isOpen),
    },
      make("span", { class: "name", style: `padding-left: ${node.depth * 16}px` },
        make("span", { class: canFold ? "fold" : "no-fold", "aria-hidden": "true" }, canFold ? (node.isOpen ? "▾" : "▸") : ""),
        node.alike ? `${node.name}: alike` : node.name),
      make("span", { class: "kind" }, only ? only.kind : `${count(layers.length, "layer")}`),
      make("span", { class: "shape" }, only ? shapeText(only.output_shape) : ""),
      make("span", { class: "number" }, sum("parameters") ? short(sum("parameters")) : ""),
      make("span", { class: "number" }, sum("macs") ? short(sum("macs")) : ""),
      this.model.times ? make("span", { class: "number" }, times.length ? `${measured(ms * 1e3)} µs${times.some((time) => time.divided) ? " *" : ""}` : "") : null,
      this.bar(node),
      make("span", {}, verdict));
  }

  fold(node, isOpen) {
    node.isOpen = isOpen;
    this.layOut();
    this.show();
  }

  choose(node, folds) {
    if (folds) {
      this.fold(node, !node.isOpen);
    } else {
      this.selection.set(node.alike ? node.alike.map((child) => child.path) : [node.path]);
    }
  }

  /// What stands for a path: the innermost node of it that is in view, or null.
  nodeFor(path) {
    const known = [...pathsAround(path)].find((around) => this.nodes.has(around));
    let node = known === undefined ? null : this.nodes.get(known);
    while (node && !this.rowOf.has(node)) {
      node = node.group ?? node.parent;
    }
    return node;
  }

  //===--------------------------------------------------------------------===//
  // Arcs
  //===--------------------------------------------------------------------===//

  /// From the row of a value to the rows that read it. Neighbours touch; longer
  /// arcs reach further left.
  drawArcs() {
    this.edges = [];
    const known = new Set();
    for (const layer of this.model.layers) {
      const to = this.rowOf.get(this.nodeFor(layer.path));
      for (const read of layer.reads) {
        const source = this.nodeFor(read);
        const from = source ? this.rowOf.get(source) : -1; // an input of the model
        if (from !== to && !known.has(`${from} ${to}`)) {
          known.add(`${from} ${to}`);
          this.edges.push({ from, to, paths: [read, layer.path] });
        }
      }
    }
    const left = LANES * LANE_WIDTH + 6;
    for (const edge of this.edges) {
      const lane = Math.min(LANES, Math.ceil(Math.log2(edge.to - edge.from + 1)) * 1.4);
      const [y1, y2, x] = [(edge.from + 0.5) * ROW_HEIGHT, (edge.to + 0.5) * ROW_HEIGHT - 3, left - lane * LANE_WIDTH];
      edge.element = make("path", { class: "arc", d: `M${left} ${y1} C${x} ${y1} ${x} ${y1} ${x} ${(y1 * 3 + y2) / 4} L${x} ${(y1 + y2 * 3) / 4} C${x} ${y2} ${x} ${y2} ${left} ${y2}` });
    }
    this.arcs.setAttribute("width", left + 2);
    this.arcs.setAttribute("height", this.rows.length * ROW_HEIGHT);
    put(this.arcs, this.edges.map((edge) => edge.element));
  }

  //===--------------------------------------------------------------------===//
  // The selection
  //===--------------------------------------------------------------------===//

  show() {
    const { selection } = this;
    [...this.tree.children].forEach((element, index) => {
      const node = this.rows[index];
      const isChosen = selection.paths.includes(node.path) || (node.alike ?? []).some((child) => selection.paths.includes(child.path));
      // A block is lit for what stands in it only while that is not in view.
      const isLit = !selection.isEmpty && (node.layer ? selection.touches(node.path) : isChosen || (!node.isOpen && [...node.layers()].some((layer) => selection.touches(layer.path))));
      element.classList.toggle("lit", isLit);
      element.setAttribute("aria-selected", String(isChosen));
    });
    for (const edge of this.edges) {
      edge.element.classList.toggle("lit", !selection.isEmpty && edge.paths.some((path) => selection.touches(path)));
    }
    const chosen = this.tree.querySelector("[aria-selected=true]");
    if (chosen && this.element.offsetParent) {
      chosen.scrollIntoView({ block: "nearest" });
    }
  }

  /// Arrows walk through rows, and open and close them.
  press(event) {
    const here = this.rows.findIndex((node) => this.selection.paths.includes(node.path) || node.alike?.some((child) => this.selection.paths.includes(child.path)));
    const node = this.rows[here];
    const steps = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };
    if (event.key in steps) {
      const next = Math.min(Math.max(here + steps[event.key], 0), this.rows.length - 1);
      this.choose(this.rows[next], false);
    } else if (event.key === "ArrowRight" && node?.children.length) {
      this.fold(node, true);
    } else if (event.key === "ArrowLeft" && node) {
      if (node.children.length && node.isOpen) {
        this.fold(node, false);
      } else if ((node.group ?? node.parent).parent) {
        this.choose(node.group ?? node.parent, false);
      }
    } else {
      return;
    }
    event.preventDefault();
  }
}
