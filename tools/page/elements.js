//===- elements.js - Elements of the page ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every text that is not ours reaches the page by here, as a text node or as the
// value of an attribute, and never as markup.

"use strict";

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "g", "path", "rect", "circle", "line", "text", "title"]);

/// An element with its attributes and children. A function is a listener, `true`
/// an attribute without a value, false and null none; children are elements,
/// texts, or lists of them.
function make(tag, attributes = {}, ...children) {
  const element = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      element.addEventListener(name, value);
    } else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

function put(container, ...children) {
  container.replaceChildren(...children.flat(Infinity).filter((child) => child));
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// 86567656 as 86,567,656.
const grouped = (number) => number.toLocaleString("en-US");

/// 86567656 as 86.6 M.
function short(number) {
  for (const [unit, size] of [["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
    if (number >= size) {
      return `${(number / size).toPrecision(3)} ${unit}`;
    }
  }
  return String(number);
}

/// Three digits that count, for measured figures.
const measured = (number) => (number >= 100 ? number.toFixed(0) : number.toPrecision(3));

const shapeText = (shape) => (shape && shape.length ? shape.join(" × ") : "scalar");

const count = (number, noun) => `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`;

//===----------------------------------------------------------------------===//
// Lists that are longer than a browser can lay out
//===----------------------------------------------------------------------===//

const LINE_HEIGHT = 18; // pixels; that of `.line` in page.css

/// Lines of one height, of which only those in view are elements. `draw(index)`
/// makes one; `choose(index)` is called for one that is clicked.
class LongList {
  constructor(label, draw, choose) {
    this.draw = draw;
    this.length = 0;
    this.drawn = null;
    this.lines = make("div", { class: "lines" });
    this.room = make("div", { class: "room" }, this.lines);
    this.element = make("div", { class: "long-list", tabindex: "0", role: "region", "aria-label": label }, this.room);
    this.element.addEventListener("scroll", () => this.follow());
    new ResizeObserver(() => this.follow()).observe(this.element);
    // By its place: a line may be drawn anew while a button is down on it.
    this.element.addEventListener("click", (event) => {
      const index = Math.floor((event.clientY - this.room.getBoundingClientRect().top) / LINE_HEIGHT);
      if (index >= 0 && index < this.length) {
        choose(index);
      }
    });
  }

  /// How many letters a line has room for, after its number.
  columns() {
    const line = make("div", { class: "line" }, make("span", { class: "line-number" }), make("code", {}, "0".repeat(100)));
    this.lines.append(line);
    const letter = line.lastChild.getBoundingClientRect().width / 100;
    const before = line.lastChild.getBoundingClientRect().left - line.getBoundingClientRect().left;
    line.remove();
    return Math.max(20, Math.floor((this.element.clientWidth - before - 12) / letter));
  }

  setLength(length) {
    this.length = length;
    this.room.style.height = `${length * LINE_HEIGHT}px`;
    this.render();
  }

  /// The first line that is to be drawn, and the one after the last.
  range() {
    const first = Math.max(0, Math.floor(this.element.scrollTop / LINE_HEIGHT) - 10);
    return [first, Math.min(this.length, first + Math.ceil(this.element.clientHeight / LINE_HEIGHT) + 20)];
  }

  /// Draws what has come into view.
  follow() {
    if (String(this.range()) !== String(this.drawn)) {
      this.render();
    }
  }

  render() {
    const [first, last] = (this.drawn = this.range());
    this.lines.style.transform = `translateY(${first * LINE_HEIGHT}px)`;
    put(this.lines, Array.from({ length: Math.max(0, last - first) }, (_, at) => this.draw(first + at)));
  }

  /// The line comes into view, a third below the top.
  show(index) {
    this.element.scrollTop = Math.max(0, index * LINE_HEIGHT - this.element.clientHeight / 3);
    this.render();
  }
}
