//===- kernels.js - What runs, and how long it takes -----------------------===//
// SPDX-License-Identifier: Apache-2.0

"use strict";

const MOST_ABOVE = 12; // kernels that are said to be above the roof

/// Columns of the table: a title, what comes first when the table is sorted by
/// it (else the smallest), what a kernel has there, and how it is written. The
/// one that is the cost has a bar. Figures of a device and times only where the
/// document has them.
function kernelColumns(model) {
  const device = (kernel) => model.device.get(kernel.symbol) ?? {};
  const text = (value) => value ?? "";
  const times = [
    { title: "µs", first: "largest", value: (kernel) => (kernel.ms ?? 0) * 1e3, text: measured, isCost: true },
    { title: "% of time", first: "largest", value: (kernel) => (100 * kernel.ms) / model.benchmark.ms, text: (number) => number.toFixed(1) },
    { title: "GFLOP/s", first: "largest", value: (kernel) => kernel.rate, text: (number) => number.toFixed(1) },
    { title: "% of peak", first: "largest", value: (kernel) => (100 * kernel.rate) / model.peak, text: (number, kernel) => `${roofOver(model, kernel) ? "▲ " : ""}${number.toFixed(1)}`, note: "▲: above the roof, see below the roofline" },
  ];
  const uses = [
    { title: "threads", first: "largest", value: (kernel) => text(device(kernel).threads), note: "of a block" },
    { title: "registers", first: "largest", value: (kernel) => text(device(kernel).registers), note: "of a thread" },
    { title: "spilled", first: "largest", value: (kernel) => text(device(kernel).spilled_bytes), note: "bytes" },
    { title: "shared", first: "largest", value: (kernel) => text(device(kernel).shared_bytes), note: "bytes of a block" },
  ];
  return [
    { title: "#", value: (kernel) => kernel.number },
    { title: "kernel", value: (kernel) => kernel.name },
    ...(model.benchmark ? times : []),
    { title: "MFLOP", first: "largest", value: (kernel) => kernel.flops * 1e-6, text: (number) => number.toFixed(3), note: "executed", isCost: !model.benchmark },
    { title: "kB", first: "largest", value: (kernel) => kernel.bytes * 1e-3, text: (number) => number.toFixed(1), note: "of its buffers, each once" },
    { title: "FLOP/B", first: "largest", value: (kernel) => (kernel.bytes ? kernel.flops / kernel.bytes : 0), text: (number) => number.toFixed(2) },
    ...(model.device.size ? uses : []),
    { title: "stages", first: "largest", value: (kernel) => kernel.stages.length },
    { title: "units", first: "largest", value: (kernel) => kernel.units.reduce((product, { size }) => product * size, 1), text: (_, kernel) => shapeText(kernel.units.map(({ size }) => size)), note: "what threads divide: below, of a kernel that is chosen, by name" },
  ];
}

/// How many GFLOP/s the roof allows where a kernel has more; else 0.
function roofOver(model, kernel) {
  const { gflops, gbs } = model.data.peak ?? {};
  if (!gflops || !kernel.rate) {
    return 0;
  }
  const roof = Math.min(gflops, gbs && kernel.bytes ? (gbs * kernel.flops) / kernel.bytes : Infinity);
  return kernel.rate > roof ? roof : 0;
}

class KernelsView {
  constructor(model, selection) {
    Object.assign(this, { model, selection });
    this.columns = kernelColumns(model);
    this.order = { column: this.columns[0], isDown: false };
    this.body = make("tbody");
    this.headings = this.columns.map((column) => make("th", { scope: "col", title: column.note ?? null },
      make("button", { click: () => this.sortBy(column) }, column.title)));
    this.details = make("div", { class: "details" });
    this.element = make("section", { id: "kernels" }, this.notes(),
      make("div", { class: "scrolls" }, make("table", {}, make("thead", {}, make("tr", {}, this.headings)), this.body)),
      this.details,
      model.benchmark ? [this.roofline(), this.layerTimes()] : null);
    this.fill();
    selection.watch(() => this.show());
  }

  /// Whose figures these are.
  notes() {
    const { data, benchmark, peak } = this.model;
    if (!benchmark) {
      return make("p", { class: "note" }, "With --benchmark-file, a file that the program has written with --benchmark-out, the table has times.");
    }
    const { target, emulated, level, threads, latency_ms } = data.benchmark;
    const ofPeak = data.peak ? `Percent of the peak are of ${measured(peak)} GFLOP/s, as --peak says.` : `No --peak was given: percent of the peak are of the fastest kernel, ${measured(peak)} GFLOP/s.`;
    return [
      make("p", {}, `${measured(benchmark.ms * 1e3)} µs in kernels, the mean of ${count(benchmark.runs, "run")}, on ${target}, ${level ?? ""}, ${count(threads ?? 1, "thread")}; latency ${measured((latency_ms?.median ?? 0) * 1e3)} µs, the median. ${ofPeak}`),
      emulated ? make("p", { class: "note" }, "These are times of the emulation, which say nothing of those on a GPU.") : null,
    ];
  }

  sortBy(column) {
    const isDown = this.order.column === column ? !this.order.isDown : column.first === "largest";
    this.order = { column, isDown };
    this.fill();
    this.show();
  }

  fill() {
    const { column, isDown } = this.order;
    const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    this.rows = [...this.model.kernels].sort((a, b) => (isDown ? -1 : 1) * compare(column.value(a), column.value(b)));
    this.headings.forEach((heading, at) => heading.setAttribute("aria-sort", this.columns[at] !== column ? "none" : isDown ? "descending" : "ascending"));
    const costs = this.columns.find((entry) => entry.isCost);
    const most = Math.max(...this.model.kernels.map(costs.value), Number.MIN_VALUE);
    put(this.body, this.rows.map((kernel) => make("tr", { tabindex: "0", "data-kernel": kernel.number, click: () => this.selection.set([], kernel.number), keydown: (event) => event.key === "Enter" && this.selection.set([], kernel.number) },
      this.columns.map((column) => {
        const value = column.value(kernel);
        const style = column.isCost ? `--share: ${((100 * value) / most).toFixed(2)}%` : null;
        return make("td", { class: `${typeof value === "number" ? "number" : "words"}${column.isCost ? " cost" : ""}`, style }, column.text ? column.text(value, kernel) : String(value));
      }))));
  }

  show() {
    [...this.body.children].forEach((row, at) => row.classList.toggle("lit", !this.selection.isEmpty && this.selection.lightsKernel(this.rows[at])));
    this.points?.forEach((point, at) => point.classList.toggle("lit", !this.selection.isEmpty && this.selection.lightsKernel(this.model.kernels[at])));
    const chosen = this.selection.kernel !== null ? [this.model.kernels[this.selection.kernel]] : this.selection.isEmpty ? [] : this.model.kernelsOf(this.selection.paths).slice(0, 3);
    put(this.details, chosen.map((kernel) => this.describe(kernel)));
    if (this.element.offsetParent && this.selection.kernel !== null) {
      this.body.querySelector(".lit")?.scrollIntoView({ block: "nearest" });
    }
  }

  /// Schedule, stages and the nest of loops.
  describe(kernel) {
    const work = new Map();
    for (const part of this.model.data.memory.parts.filter((part) => part.kernel === kernel.number)) {
      work.set(part.stage, (work.get(part.stage) ?? 0) + part.flops);
    }
    const choose = (paths) => (event) => (event.preventDefault(), this.selection.set(paths, kernel.number));
    return make("article", {},
      make("h3", {}, `kernel ${kernel.number}: ${kernel.name}`),
      kernel.units.length ? make("p", {}, `threads divide ${kernel.units.map(({ dim, size }) => `${dim} ${size}`).join(", ")}`) : null,
      kernel.schedule ? make("p", {}, make("code", {}, kernel.schedule)) : null,
      kernel.stages.length ? make("ol", { start: "0" }, kernel.stages.map((paths, at) => make("li", {}, make("a", { href: "#", click: choose(paths) }, paths.join(", ")), work.get(at) ? `: ${short(work.get(at))} FLOP` : ""))) : null,
      make("h4", {}, "loops"),
      this.loops(this.model.data.loops[kernel.symbol] ?? [], choose));
  }

  loops(loops, choose) {
    return loops.length ? make("ul", { class: "loops" }, loops.map(({ over, path, stage, trips, loops: inside }) => make("li", {},
      make("a", { href: "#", click: choose([path]) }, `${over || "loop"}${trips === undefined ? "" : ` × ${grouped(trips)}`}`),
      make("span", { class: "note" }, ` ${stage ? `${stage}, ` : ""}${path}`),
      this.loops(inside, choose)))) : null;
  }

  /// A point per kernel: operations per byte against operations per second.
  roofline() {
    const [width, height, left, bottom] = [640, 320, 56, 36];
    const kernels = this.model.kernels.filter((kernel) => kernel.flops > 0 && kernel.bytes > 0 && kernel.rate > 0);
    if (!kernels.length) {
      return null;
    }
    const gbs = this.model.data.peak?.gbs;
    const peak = this.model.peak;
    const intensities = kernels.map((kernel) => kernel.flops / kernel.bytes).concat(gbs ? [peak / gbs] : []);
    const rates = kernels.map((kernel) => kernel.rate).concat([peak]);
    const span = (values) => [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values)) + 0.05)];
    const [x1, x2] = span(intensities), [y1, y2] = span(rates);
    const x = (value) => left + ((Math.log10(value) - x1) / (x2 - x1)) * (width - left - 10);
    const y = (value) => 10 + (1 - (Math.log10(value) - y1) / (y2 - y1)) * (height - bottom - 10);
    const ticks = (from, to) => Array.from({ length: to - from + 1 }, (_, at) => 10 ** (from + at));
    const ridge = gbs ? Math.max(peak / gbs, 10 ** x1) : 10 ** x1;
    const slope = gbs ? Math.max(10 ** y1 / gbs, 10 ** x1) : ridge;
    this.points = this.model.kernels.map((kernel) => make("circle", {
      class: roofOver(this.model, kernel) ? "point above" : "point", cx: kernels.includes(kernel) ? x(kernel.flops / kernel.bytes) : -9, cy: kernels.includes(kernel) ? y(kernel.rate) : -9,
      r: 3 + 12 * Math.sqrt((kernel.ms ?? 0) / this.model.benchmark.ms), click: () => this.selection.set([], kernel.number),
    }, make("title", {}, `${kernel.number} ${kernel.name}: ${measured(kernel.rate)} GFLOP/s, ${measured(kernel.flops / kernel.bytes)} FLOP/B`)));
    return make("figure", {},
      make("svg", { class: "roofline", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Roofline" },
        ticks(x1, x2).map((value) => [make("line", { class: "tick", x1: x(value), x2: x(value), y1: 10, y2: height - bottom }), make("text", { x: x(value), y: height - bottom + 16, "text-anchor": "middle" }, String(value))]),
        ticks(y1, y2).map((value) => [make("line", { class: "tick", x1: left, x2: width - 10, y1: y(value), y2: y(value) }), make("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, String(value))]),
        make("path", { class: "roof", d: `M${x(slope)} ${y(Math.min(slope * (gbs ?? Infinity), peak))} L${x(ridge)} ${y(peak)} L${x(10 ** x2)} ${y(peak)}` }),
        this.points,
        make("text", { x: width / 2, y: height - 4, "text-anchor": "middle" }, "FLOP per byte of the kernel's buffers")),
      make("figcaption", {}, `GFLOP/s of kernels, each as large as its time${gbs ? `; the roof is ${measured(peak)} GFLOP/s and ${measured(gbs)} GB/s` : ""}.`),
      this.aboveRoof());
  }

  /// What it means that kernels are above the roof, if some are.
  aboveRoof() {
    const above = this.model.kernels.filter((kernel) => roofOver(this.model, kernel));
    if (!above.length) {
      return null;
    }
    const { gflops } = this.model.data.peak;
    const entry = (kernel) => {
      const roof = roofOver(this.model, kernel);
      const why = roof < gflops ? "its buffers were in a cache, which moves more bytes than --peak says of the memory" : "--peak says less than this machine can do";
      return make("li", {}, make("a", { href: `#kernel=${kernel.number}`, click: (event) => (event.preventDefault(), this.selection.set([], kernel.number)) }, `${kernel.number} ${kernel.name}`),
        `: ${measured(kernel.rate)} GFLOP/s, where the roof is ${measured(roof)}: ${why}.`);
    };
    return make("div", { class: "above" },
      make("p", {}, `▲ ${count(above.length, "kernel")} above the roof:`),
      make("ul", {}, above.slice(0, MOST_ABOVE).map(entry)),
      above.length > MOST_ABOVE ? make("p", { class: "note" }, `and ${grouped(above.length - MOST_ABOVE)} more, which the table marks.`) : null);
  }

  /// Bars of the layers that take longest.
  layerTimes() {
    const { times, benchmark, layers } = this.model;
    const timed = layers.map((layer) => times.get(layer.path)).filter((entry) => entry && entry.ms > 0).sort((a, b) => b.ms - a.ms);
    const most = timed[0]?.ms ?? 1;
    return make("figure", { class: "layer-times" },
      make("h3", {}, "Time of layers"),
      make("table", {}, timed.slice(0, 60).map((entry) => make("tr", { click: () => this.selection.set([entry.path]) },
        make("th", { scope: "row" }, entry.path), make("td", { class: "number" }, `${measured(entry.ms * 1e3)} µs`), make("td", { class: "number" }, `${((100 * entry.ms) / benchmark.ms).toFixed(1)} %`),
        make("td", { class: "bar" }, make("span", { style: `width: ${((100 * entry.ms) / most).toFixed(2)}%` })), make("td", {}, entry.divided ? "*" : "")))),
      make("figcaption", {}, "* A kernel's time is measured. Where it computes parts of several layers, it is divided among them by the work that was counted for each.",
        timed.length > 60 ? ` ${count(timed.length - 60, "layer")} of less time are left out.` : ""));
  }
}
