//===- maps.js - What attention attends to, for one input ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The weights of attention by query and key, those of heads, the gates of
// channels and the layers' parts of a maximum, as the reference evaluator has
// them. Those of the selection are drawn, one plane each.

"use strict";

const MOST_DRAWN = 48; // planes at a time
const MOST_NAMED = 64; // columns whose means are worth a line each

/// A map with its numbers, which are bytes: 255 is the largest.
class ShareMap {
  constructor(entry) {
    Object.assign(this, entry);
    this.bytes = Uint8Array.from(atob(entry.values), (letter) => letter.charCodeAt(0));
  }

  at(plane, row, column) {
    return (this.bytes[(plane * this.rows + row) * this.columns + column] * this.largest) / 255;
  }

  /// The mean of a column over rows.
  mean(plane, column) {
    let sum = 0;
    for (let row = 0; row < this.rows; ++row) {
      sum += this.at(plane, row, column);
    }
    return sum / this.rows;
  }

  nameOf(column) {
    return this.names[column] || `${this.column} ${column}`;
  }
}

class MapsView {
  constructor(model, selection) {
    Object.assign(this, { model, selection, first: 0 });
    const { maps, left_out } = model.data.maps;
    this.maps = maps.map((entry) => new ShareMap(entry));
    this.list = make("nav", { class: "map-list", "aria-label": "Maps" }, this.maps.map((map) => make("button", { "data-path": map.path, click: () => this.selection.set([map.path]) }, `${map.path} `, make("span", { class: "kind" }, map.kind))));
    this.drawn = make("div", { class: "maps" });
    this.reading = make("p", { class: "note", "aria-live": "polite" }, "Point at a map to read it.");
    this.element = make("section", { id: "maps" },
      make("p", {}, "Shares by which the model mixes what it reads, for the input that --input named."),
      left_out.length ? make("p", { class: "note" }, `Too large to show: ${left_out.join(", ")}.`) : null,
      this.list, this.reading, this.drawn);
    selection.watch(() => this.show());
  }

  show() {
    const chosen = this.selection.isEmpty ? this.maps.slice(0, 1) : this.maps.filter((map) => this.selection.touches(map.path));
    [...this.list.children].forEach((button, at) => button.classList.toggle("lit", chosen.includes(this.maps[at])));
    let room = MOST_DRAWN;
    const figures = chosen.map((map) => {
      const planes = Math.min(map.planes, room);
      room -= planes;
      return planes ? this.figure(map, planes) : null;
    });
    put(this.drawn, figures.length ? figures : make("p", { class: "note" }, "Nothing here has a map. Choose an attention, or one of those above."));
  }

  figure(map, planes) {
    return make("figure", { "data-path": map.path },
      make("h3", {}, `${map.path}: ${map.kind}`),
      make("div", { class: "planes" }, Array.from({ length: planes }, (_, plane) => make("div", {},
        map.plane ? make("div", { class: "note" }, `${map.plane} ${plane}`) : null, this.canvas(map, plane)))),
      make("figcaption", {}, `${map.rows} rows are ${map.row === "query" ? "queries" : `${map.row}s`}, ${map.columns} columns are ${map.column}s; the darkest is ${measured(map.largest)}.`,
        planes < map.planes ? ` ${grouped(planes)} of ${grouped(map.planes)} are drawn.` : ""),
      map.kind !== "attention" && map.columns <= MOST_NAMED ? this.means(map) : null);
  }

  canvas(map, plane) {
    const canvas = make("canvas", { width: map.columns, height: map.rows, role: "img", "aria-label": `${map.path} ${map.plane} ${plane}` });
    const scale = Math.max(1, Math.min(12, Math.floor(200 / Math.max(map.rows, map.columns))));
    canvas.style.width = `${map.columns * scale}px`;
    const context = canvas.getContext("2d");
    const image = context.createImageData(map.columns, map.rows);
    const offset = plane * map.rows * map.columns;
    for (let at = 0; at < map.rows * map.columns; ++at) {
      const share = map.bytes[offset + at] / 255;
      // From white to a dark blue, whatever the page's colours: a legend is read by its ends.
      image.data.set([255 - 225 * share, 255 - 190 * share, 255 - 130 * share, 255], at * 4);
    }
    context.putImageData(image, 0, 0);
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect();
      const column = Math.min(map.columns - 1, Math.floor(((event.clientX - box.x) / box.width) * map.columns));
      const row = Math.min(map.rows - 1, Math.floor(((event.clientY - box.y) / box.height) * map.rows));
      this.reading.textContent = `${map.path}${map.plane ? `, ${map.plane} ${plane}` : ""}, ${map.row} ${row}, ${map.nameOf(column)}: ${map.at(plane, row, column).toFixed(3)}`;
    });
    return canvas;
  }

  /// What each head or layer has on average.
  means(map) {
    const means = Array.from({ length: map.columns }, (_, column) => map.mean(0, column));
    const most = Math.max(...means, Number.MIN_VALUE);
    return make("table", { class: "means" }, means.map((mean, column) => make("tr", {},
      make("th", { scope: "row" }, map.nameOf(column)), make("td", { class: "number" }, `${(100 * mean).toFixed(1)} %`),
      make("td", { class: "bar" }, make("span", { style: `width: ${((100 * mean) / most).toFixed(1)}%` })))));
  }
}
