//===- phases.js - Two stages side by side ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A line has the colour of its layer; what is chosen is lit, in both stages. A
// line that is clicked is what is chosen: its path, and in a launch its kernel.

"use strict";

/// One of the two. Its rows are parts of lines: all of one, or where lines wrap
/// what fits.
class Pane {
  constructor(side, view) {
    Object.assign(this, { side, view, stage: null, rows: [], marks: [] });
    this.choice = make("select", { "aria-label": `Stage on the ${side}`, change: () => view.choose(side, this.choice.value) });
    this.promise = make("span", { class: "promise" });
    this.status = make("span", { class: "status" });
    this.list = new LongList(`Stage on the ${side}`, (row) => this.line(row), (row) => this.choose(row));
    const step = (text, direction, title) => make("button", { title, click: () => this.step(direction) }, text);
    this.element = make("div", { class: `pane ${side}` },
      make("header", {}, this.choice, step("↑", -1, "The chosen lines before (N)"), step("↓", 1, "The next chosen lines (n)"), this.status, this.promise),
      this.list.element);
  }

  /// `rows` are numbers of lines, -1 where only the other stage has one, and
  /// `parts` of each row the first byte and the one after the last, or null: no
  /// more of the line. `marks` are classes: what stands `alone`, what is
  /// `changed` from what it faces, and a `copy` of a line that stands elsewhere.
  set(stage, rows, parts, marks) {
    Object.assign(this, { stage, rows, parts, marks });
    const name = this.view[this.side];
    const { names, titles } = this.view.stages;
    put(this.choice, (names.includes(name) ? names : [...names, name]).map((value) => make("option", { value }, titles.get(value) ?? value)));
    this.choice.value = name;
    this.promise.textContent = this.promise.title = stage.promise;
    this.list.setLength(rows.length);
    this.countLit();
  }

  line(row) {
    const number = this.rows[row];
    const line = number < 0 ? null : this.stage.lines[number];
    if (!line) {
      return make("div", { class: "line missing" });
    }
    const hue = this.view.hueOf(line.path);
    const classes = ["line", this.view.selection.lights(line) && "lit", this.marks[row], hue !== null && "coloured"];
    const [from, to] = this.parts?.[row] ?? [0, line.text.length];
    const isFirst = from === 0;
    return make("div", { class: classes.filter((name) => name).join(" "), style: hue === null ? null : `--hue: ${hue}`, title: this.marks[row] === "copy" ? `${line.path}: this line stands elsewhere, at ${number + 1}` : line.path },
      make("span", { class: "line-number" }, isFirst ? String(number + 1) : ""),
      make("code", { class: isFirst ? null : "continued", style: isFirst ? null : `padding-left: ${hangOf(line.text)}ch` }, to > from ? colouredText(line.text, this.stage.language, from, to) : " "));
  }

  choose(row) {
    if (this.rows[row] >= 0) {
      this.view.chooseLine(this.stage.lines[this.rows[row]]);
    }
  }

  /// Whether a line begins in this row, at its own place.
  isStart(row) {
    return this.rows[row] >= 0 && this.marks[row] !== "copy" && (this.parts?.[row]?.[0] ?? 0) === 0;
  }

  countLit() {
    this.lit = [];
    let lines = 0;
    this.rows.forEach((number, row) => {
      if (number >= 0 && this.view.selection.lights(this.stage.lines[number])) {
        this.lit.push(row);
        lines += this.isStart(row) ? 1 : 0;
      }
    });
    const isEmpty = this.view.selection.isEmpty;
    this.status.textContent = isEmpty ? count(this.stage.lines.length, "line") : `${grouped(lines)} of ${count(this.stage.lines.length, "line")}`;
    this.list.render();
  }

  /// To the first lit line, if none is in view.
  showLit() {
    const top = this.list.element.scrollTop / LINE_HEIGHT;
    const bottom = top + this.list.element.clientHeight / LINE_HEIGHT;
    if (this.lit.length && !this.lit.some((row) => row >= top && row < bottom - 1)) {
      this.list.show(this.lit[0]);
    }
  }

  /// To the next stretch of lit lines.
  step(direction) {
    const here = (this.list.element.scrollTop + this.list.element.clientHeight / 3) / LINE_HEIGHT;
    const starts = this.lit.filter((row, index) => index === 0 || this.lit[index - 1] !== row - 1);
    const next = direction > 0 ? starts.find((row) => row > here + 1) : starts.findLast((row) => row < here - 1);
    if (next !== undefined) {
      this.list.show(next);
    }
  }
}

class PhasesView {
  constructor(model, selection, stages) {
    Object.assign(this, { model, selection, stages, left: "description", right: "fuse", isOpen: false });
    if (!stages.names.includes(this.right)) {
      this.right = stages.names.at(-2);
    }
    this.panes = [new Pane("left", this), new Pane("right", this)];
    this.compares = make("input", { type: "checkbox", id: "compares", checked: true, change: () => this.read() });
    this.wraps = make("input", { type: "checkbox", id: "wraps", change: () => this.read() });
    this.steps = make("nav", { class: "passes", "aria-label": "Passes that changed something" });
    this.element = make("section", { id: "phases" },
      make("div", { class: "tools" }, this.steps,
        make("label", { title: "What has the same path stands side by side, in two phases and on both sides of a pass" }, this.compares, " line up by path"),
        make("label", {}, this.wraps, " wrap lines")),
      make("div", { class: "panes" }, this.panes.map((pane) => pane.element)));
    this.shareScrolling();
    new ResizeObserver(() => this.wraps.checked && this.read()).observe(this.element);
    selection.watch(() => this.show());
  }

  /// The hue of a layer, far from those of its neighbours.
  hueOf(path) {
    const layer = this.model.layerOf(path);
    return layer ? Math.round((layer.order * 137.5) % 360) : null;
  }

  /// Whether both stages are IR, and are to be lined up.
  get isLinedUp() {
    return this.compares.checked && [this.left, this.right].every((name) => this.stages.phaseOf(name));
  }

  /// While stages are lined up, they scroll together.
  shareScrolling() {
    const [left, right] = this.panes.map((pane) => pane.list.element);
    const follow = (from, to) => from.addEventListener("scroll", () => {
      if (this.isLinedUp && Math.abs(to.scrollTop - from.scrollTop) > 1) {
        to.scrollTop = from.scrollTop;
      }
    });
    follow(left, right);
    follow(right, left);
  }

  /// Shows these two stages; one that is null or unknown stays what it is.
  set(left, right) {
    this.left = this.stages.has(left) ? left : this.left;
    this.right = this.stages.has(right) ? right : this.right;
  }

  choose(side, name) {
    this.set(...(side === "left" ? [name, null] : [null, name]));
    this.onChange?.();
    return this.read();
  }

  choosePass(phase, number) {
    this.set(`${phase}.${number}.before`, `${phase}.${number}.after`);
    this.onChange?.();
    return this.read();
  }

  /// Reads both stages and shows them; of calls that overlap, the last counts.
  async read() {
    if (!this.isOpen) {
      return;
    }
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const phase = this.stages.phaseOf(this.right) ?? this.stages.phaseOf(this.left);
    const [left, right, passes] = await Promise.all([this.stages.get(this.left), this.stages.get(this.right), phase && this.stages.passesOf(phase)]);
    if (turn !== this.turn) {
      return;
    }
    this.showPasses(phase, passes?.passes ?? []);
    this.layOut(left, right);
    this.panes.forEach((pane) => pane.showLit());
    this.element.dataset.ready = String(turn);
  }

  layOut(left, right) {
    const columns = this.wraps.checked ? this.panes.map((pane) => pane.list.columns()) : [Infinity, Infinity];
    const parts = [left, right].map((stage, side) => (number) => (number < 0 ? [null] : partsOf(stage.lines[number].text, columns[side])));
    const pairs = this.isLinedUp ? lineUp(left.lines, right.lines, this.model.kernels) : null;
    const rows = [left, right].map((stage, side) => {
      const shown = { rows: [], parts: [], marks: [] };
      const add = (number, rowParts, mark) => rowParts.forEach((part) => {
        shown.rows.push(part ? number : -1);
        shown.parts.push(part);
        shown.marks.push(mark);
      });
      if (!pairs) {
        stage.lines.forEach((_, number) => add(number, parts[side](number), null));
      }
      for (const [i, j, isCopy, areAlike] of pairs ?? []) {
        const both = [parts[0](i), parts[1](j)];
        const filled = Math.max(both[0].length, both[1].length) - both[side].length;
        const mark = isCopy && side === 1 ? "copy" : areAlike ? null : i < 0 || j < 0 ? "alone" : "changed";
        add([i, j][side], [...both[side], ...Array(filled).fill(null)], mark);
      }
      return shown;
    });
    this.panes.forEach((pane, at) => pane.set([left, right][at], rows[at].rows, this.wraps.checked ? rows[at].parts : null, rows[at].marks));
  }

  /// A button for each pass of the phase that changed something.
  showPasses(phase, passes) {
    const isShown = (number) => this.left === `${phase}.${number}.before` && this.right === `${phase}.${number}.after`;
    const note = ({ name, functions, leftOut }) => `${name} changed ${functions.length > 4 ? count(functions.length, "function") : functions.join(", ")}.`
      + (leftOut === functions.length ? " Their texts are too long to be here." : ` A click shows both sides${leftOut ? `, without ${grouped(leftOut)} that are too long` : ""}.`);
    put(this.steps, passes.length ? make("span", { class: "note" }, `${phase}:`) : null,
      passes.map((pass, number) => make("button", { "aria-pressed": String(isShown(number)), title: note(pass), disabled: pass.leftOut === pass.functions.length, click: () => this.choosePass(phase, number) },
        pass.name.replace(/^hova-/, ""), pass.before.length ? [make("ins", {}, `+${pass.added}`), " ", make("del", {}, `−${pass.removed}`)] : null)));
  }

  open() {
    this.isOpen = true;
    return this.read();
  }

  show() {
    for (const pane of this.panes) {
      if (pane.stage) {
        pane.countLit();
        if (this.isOpen) {
          pane.showLit();
        }
      }
    }
  }

  chooseLine(line) {
    const isLaunch = line.kernel !== null && /hova\.(kernel|launch) /.test(line.text);
    if (isLaunch) {
      this.selection.set([], line.kernel);
    } else if (line.paths?.length) {
      this.selection.set(line.paths);
    } else if (line.path !== null && this.model.layerOf(line.path)) {
      this.selection.set([line.path]);
    }
  }
}
