//===- memory.js - What lies where, and when -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The arena over time: across, the kernels in their order; down, the bytes. A
// box is a value, from the kernel that writes it to the last that reads it.

"use strict";

class MemoryView {
  constructor(model, selection) {
    Object.assign(this, { model, selection });
    const { arena, arena_bytes, weight_bytes, weights } = model.data.memory;
    this.values = arena;
    this.boxes = [];
    this.element = make("section", { id: "memory" },
      make("p", {}, `The arena holds ${grouped(arena_bytes)} bytes for ${count(arena.length, "value")}, and the weights take ${grouped(weight_bytes)} bytes in ${count(weights.length, "tensor")}. `,
        `Without sharing, values would take ${grouped(arena.reduce((sum, value) => sum + value.bytes, 0))} bytes.`),
      this.draw(arena_bytes),
      this.table());
    selection.watch(() => this.show());
  }

  draw(bytes) {
    const [left, top, height] = [70, 10, 360];
    const kernels = this.model.kernels.length;
    const step = Math.max(4, Math.min(60, 1100 / kernels));
    const width = left + kernels * step + 10;
    const y = (offset) => top + (offset / Math.max(bytes, 1)) * height;
    this.boxes = this.values.map((value) => {
      const layer = this.model.layerOf(value.path);
      return make("rect", {
        class: "value", x: left + value.first_kernel * step, width: (value.last_kernel - value.first_kernel + 1) * step - 1,
        y: y(value.offset), height: Math.max(1, y(value.offset + value.bytes) - y(value.offset) - 0.5),
        style: `--hue: ${layer ? Math.round((layer.order * 137.5) % 360) : 0}`, "data-path": value.path, click: () => this.selection.set([value.path]),
      }, make("title", {}, `${value.path}: ${grouped(value.bytes)} bytes at ${grouped(value.offset)}, kernels ${value.first_kernel} to ${value.last_kernel}`));
    });
    const every = Math.ceil(40 / step);
    const labels = this.model.kernels.filter((kernel) => kernel.number % every === 0).map((kernel) => make("text", { x: left + (kernel.number + 0.5) * step, y: top + height + 16, "text-anchor": "middle" }, String(kernel.number)));
    const offsets = [0, 0.25, 0.5, 0.75, 1].map((part) => make("text", { x: left - 6, y: y(part * bytes) + 4, "text-anchor": "end" }, grouped(Math.round(part * bytes))));
    this.cursor = make("rect", { class: "cursor", y: top, height, width: step - 1, x: -99 });
    this.left = left;
    this.step = step;
    return make("figure", { class: "scrolls" },
      make("svg", { class: "arena", width, height: top + height + 24, role: "img", "aria-label": "The arena over time" }, this.cursor, this.boxes, labels, offsets),
      make("figcaption", {}, "Bytes of the arena, from kernel to kernel."));
  }

  table() {
    const rows = this.values.map((value) => make("tr", { click: () => this.selection.set([value.path]) },
      make("th", { scope: "row" }, value.path), [value.offset, value.bytes].map((number) => make("td", { class: "number" }, grouped(number))),
      make("td", {}, `${value.first_kernel} – ${value.last_kernel}`)));
    this.rows = rows;
    return make("details", {}, make("summary", {}, "As a table"), make("table", {}, make("thead", {}, make("tr", {}, ["value", "offset", "bytes", "kernels"].map((title) => make("th", { scope: "col" }, title)))), make("tbody", {}, rows)));
  }

  show() {
    const { selection } = this;
    this.values.forEach((value, at) => {
      const isLit = !selection.isEmpty && selection.touches(value.path);
      this.boxes[at].classList.toggle("lit", isLit);
      this.rows[at].classList.toggle("lit", isLit);
    });
    this.cursor.setAttribute("x", selection.kernel === null ? -99 : this.left + selection.kernel * this.step);
  }
}
