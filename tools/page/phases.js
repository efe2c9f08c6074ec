//===- phases.js - Two stages side by side ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A line has the colour of its layer; what is chosen is lit, in both stages. A
// line that is clicked is what is chosen: its path, and in a launch its kernel.

"use strict";

/// One of the two.
class Pane {
  constructor(side, view) {
    Object.assign(this, { side, view, stage: null, rows: [], marks: null });
    this.choice = make("select", { "aria-label": `Stage on the ${side}`, change: () => view.choose(side, this.choice.value) },
      view.stages.names.map((name) => make("option", { value: name }, view.stages.titles.get(name))));
    this.promise = make("span", { class: "promise" });
    this.status = make("span", { class: "status" });
    this.list = new LongList(`Stage on the ${side}`, (row) => this.line(row), (row) => this.choose(row));
    const step = (text, direction, title) => make("button", { title, click: () => this.step(direction) }, text);
    this.element = make("div", { class: `pane ${side}` },
      make("header", {}, this.choice, step("↑", -1, "The chosen lines before (N)"), step("↓", 1, "The next chosen lines (n)"), this.status, this.promise),
      this.list.element);
  }

  /// Rows are numbers of lines, -1 where only the other stage has one; `marks`
  /// says of which rows the other has no equal.
  set(stage, rows, marks) {
    Object.assign(this, { stage, rows, marks });
    this.choice.value = this.view[this.side];
    this.promise.textContent = stage.promise;
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
    const classes = ["line", this.view.selection.lights(line) && "lit", this.marks?.[row] && "differs", hue !== null && "coloured"];
    return make("div", { class: classes.filter((name) => name).join(" "), style: hue === null ? null : `--hue: ${hue}`, title: line.path },
      make("span", { class: "line-number" }, String(number + 1)), make("code", {}, line.text || " "));
  }

  choose(row) {
    if (this.rows[row] >= 0) {
      this.view.chooseLine(this.stage.lines[this.rows[row]]);
    }
  }

  countLit() {
    this.lit = [];
    this.rows.forEach((number, row) => {
      if (number >= 0 && this.view.selection.lights(this.stage.lines[number])) {
        this.lit.push(row);
      }
    });
    const isEmpty = this.view.selection.isEmpty;
    this.status.textContent = isEmpty ? count(this.stage.lines.length, "line") : `${grouped(this.lit.length)} of ${count(this.stage.lines.length, "line")}`;
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
    Object.assign(this, { model, selection, stages, left: "description", right: "fuse", isOpen: false, follows: true });
    if (!stages.names.includes(this.right)) {
      this.right = stages.names.at(-2);
    }
    this.panes = [new Pane("left", this), new Pane("right", this)];
    this.compares = make("input", { type: "checkbox", id: "compares", change: () => this.read() });
    this.element = make("section", { id: "phases" },
      make("p", { class: "tools" }, make("label", {}, this.compares, " line up what is equal, and mark differences")),
      make("div", { class: "panes" }, this.panes.map((pane) => pane.element)));
    this.shareScrolling();
    selection.watch(() => this.show());
  }

  /// The hue of a layer, far from those of its neighbours.
  hueOf(path) {
    const layer = this.model.layerOf(path);
    return layer ? Math.round((layer.order * 137.5) % 360) : null;
  }

  /// While stages are lined up, they scroll together.
  shareScrolling() {
    const [left, right] = this.panes.map((pane) => pane.list.element);
    const follow = (from, to) => from.addEventListener("scroll", () => {
      if (this.compares.checked && Math.abs(to.scrollTop - from.scrollTop) > 1) {
        to.scrollTop = from.scrollTop;
      }
    });
    follow(left, right);
    follow(right, left);
  }

  choose(side, name) {
    if (this.stages.names.includes(name)) {
      this[side] = name;
      this.read();
      this.onChange?.();
    }
  }

  /// Reads both stages and shows them; of calls that overlap, the last counts.
  async read() {
    if (!this.isOpen) {
      return;
    }
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const [left, right] = await Promise.all([this.stages.get(this.left), this.stages.get(this.right)]);
    if (turn !== this.turn) {
      return;
    }
    if (this.compares.checked) {
      const pairs = differences(left.lines, right.lines);
      const marks = pairs.map(([a, b]) => a < 0 || b < 0);
      this.panes[0].set(left, pairs.map(([a]) => a), marks);
      this.panes[1].set(right, pairs.map(([, b]) => b), marks);
    } else {
      this.panes[0].set(left, left.lines.map((_, at) => at), null);
      this.panes[1].set(right, right.lines.map((_, at) => at), null);
    }
    this.panes.forEach((pane) => pane.showLit());
    this.element.dataset.ready = String(turn);
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
