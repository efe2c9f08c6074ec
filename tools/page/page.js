//===- page.js - The page ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The views and what is around them: tabs, search, keys, light and dark.

"use strict";

const MOST_FOUND = 40;

class Page {
  constructor(data) {
    this.model = new Model(data);
    this.stages = new Stages(this.model);
    this.selection = new Selection(this.model);
    this.tab = "model";
    this.phases = new PhasesView(this.model, this.selection, this.stages);
    this.views = new Map([
      ["model", new ModelView(this.model, this.selection)],
      ["phases", this.phases],
      ["kernels", new KernelsView(this.model, this.selection)],
      ["memory", new MemoryView(this.model, this.selection)],
      ...(data.maps ? [["maps", new MapsView(this.model, this.selection)]] : []),
    ]);
    this.inspector = new Inspector(this.model, this.selection, this.stages, this);
    this.address = new Address(this.selection, this);
    this.phases.onChange = () => this.address.write();
    this.build();
    this.address.read();
    this.selection.watch(() => this.address.write());
    document.addEventListener("keydown", (event) => this.press(event));
  }

  // What the address says of the view.
  get left() {
    return this.phases.left;
  }
  get right() {
    return this.phases.right;
  }

  /// Shows a view; of the phases, these two stages. Null or unknown: as it is.
  open(tab, left = null, right = null) {
    this.phases.set(left, right);
    this.tab = this.views.has(tab) ? tab : this.tab;
    for (const [name, view] of this.views) {
      view.element.classList.toggle("open", name === this.tab);
      this.tabs.get(name).setAttribute("aria-selected", String(name === this.tab));
    }
    if (this.tab === "phases") {
      this.phases.open();
    }
    this.views.get(this.tab).show();
    this.address.write();
  }

  build() {
    const { model, target, level, hova, options } = this.model.data;
    document.title = `${model} – hova`;
    this.tabs = new Map([...this.views.keys()].map((name, at) => [name, make("button", { role: "tab", title: `Key ${at + 1}`, click: () => this.open(name) }, name)]));
    this.search = make("input", { type: "search", placeholder: "search (/)", "aria-label": "Search layers, kernels and lines", input: () => this.find(), keydown: (event) => event.key === "Enter" && this.found.querySelector("button")?.click() });
    this.found = make("div", { class: "found" });
    // The parts of the document stay where they are.
    document.body.append(
      make("header", { id: "top" },
        make("h1", {}, model),
        make("span", { class: "note", title: options.join(" ") }, `${target} · ${level}`),
        make("nav", { role: "tablist" }, [...this.tabs.values()]),
        make("div", { class: "search" }, this.search, this.found),
        make("button", { id: "theme", title: "Light or dark", click: () => this.changeTheme() }, "◐")),
      make("main", {}, [...this.views.values()].map((view) => view.element)),
      this.inspector.element,
      make("footer", {}, `${hova}. Keys: 1 to ${this.views.size} views, / search, arrows layers, n and N chosen lines, Escape clears.`));
  }

  changeTheme() {
    const root = document.documentElement;
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
  }

  /// Layers, kernels, and lines of the two stages that are open.
  find() {
    const words = this.search.value.trim().toLowerCase();
    const results = [];
    const has = (...texts) => texts.some((text) => text.toLowerCase().includes(words));
    const add = (kind, text, choose) => results.length < MOST_FOUND && results.push(make("button", { click: () => this.take(choose) }, make("span", { class: "kind" }, kind), text));
    if (words) {
      const order = (layer) => [layer.path === words, layer.path.endsWith(`.${words}`), has(layer.path), has(layer.kind)].indexOf(true);
      this.model.layers.filter((layer) => order(layer) >= 0).sort((a, b) => order(a) - order(b)).forEach((layer) => add(layer.kind, layer.path, () => this.selection.set([layer.path])));
      this.model.kernels.filter((kernel) => has(kernel.name, kernel.symbol)).forEach((kernel) => add("kernel", `${kernel.number} ${kernel.name}`, () => this.selection.set([], kernel.number)));
      for (const pane of this.tab === "phases" ? this.phases.panes : []) {
        pane.rows.forEach((number, row) => {
          const line = number < 0 ? null : pane.stage.lines[number];
          if (line && pane.isStart(row) && has(line.text)) {
            add(`${pane.side} ${number + 1}`, line.text.trim().slice(0, 120), () => (pane.list.show(row), this.phases.chooseLine(line)));
          }
        });
      }
    }
    put(this.found, results.length || !words ? results : make("p", {}, "nothing found"));
  }

  take(choose) {
    put(this.found);
    choose();
  }

  press(event) {
    const isTyping = ["INPUT", "SELECT"].includes(event.target.tagName) && event.target.type !== "checkbox";
    if (event.key === "Escape") {
      this.search.value = "";
      this.find();
      this.search.blur();
      this.selection.clear();
    } else if (isTyping || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    } else if (event.key === "/") {
      event.preventDefault();
      this.search.focus();
    } else if (/^[1-5]$/.test(event.key)) {
      this.open([...this.views.keys()][event.key - 1] ?? this.tab);
    } else if (this.tab === "phases" && /^n$/i.test(event.key)) {
      this.phases.panes.forEach((pane) => pane.step(event.key === "n" ? 1 : -1));
    }
  }
}

unpack("document").then((text) => {
  window.page = new Page(JSON.parse(text));
  document.documentElement.dataset.ready = "true";
});
