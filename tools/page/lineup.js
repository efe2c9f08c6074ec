//===- lineup.js - Lines of one place in the model, side by side -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Two phases have few equal lines, but their lines have the same paths. So what
// stands side by side is, from the outside in: functions and kernels of the same
// name, in these the stretches of lines of one path that make the most of the
// lines face each other in their order, and in those the lines that are most
// alike. What has been moved elsewhere, such as a weight to the head of its
// function, is shown beside its counterpart as well, as a copy.

"use strict";

const MOST_ALIGNED = 20000; // pairs of lines that are compared one by one
const MOST_FACING = 60; // stretches of one path that each one is compared with

/// Numbers that keep names of values apart differ from phase to phase.
const comparable = (text) => text.trim().replace(/(%[\w.$-]*?)_\d+\b/g, "$1");

/// Numbers for texts, equal for equal ones.
class Numbering {
  constructor() {
    this.known = new Map();
  }

  of(text) {
    const number = this.known.get(text) ?? this.known.size;
    this.known.set(text, number);
    return number;
  }
}

/// By what a value is made, or the first word.
const operationIn = (text) => /^\s*(?:[%\w.$\-:#, ]*= )?("?[\w.]*)/.exec(text)[1];

/// Of pairs [i, j, weight, ...] those that rise in both numbers and weigh most.
function heaviest(pairs, size) {
  const best = new Array(size + 1).fill(null); // a Fenwick tree of maxima over j
  const before = (j) => {
    let found = null;
    for (; j > 0; j -= j & -j) {
      found = best[j] && (!found || best[j].sum > found.sum) ? best[j] : found;
    }
    return found;
  };
  // Of one i the last j first, so that none follows another of the same i.
  pairs.sort((x, y) => x[0] - y[0] || y[1] - x[1]);
  for (const pair of pairs) {
    const last = before(pair[1]);
    const chain = { pair, last, sum: pair[2] + (last?.sum ?? 0) };
    for (let j = pair[1] + 1; j <= size; j += j & -j) {
      best[j] = !best[j] || chain.sum > best[j].sum ? chain : best[j];
    }
  }
  const found = [];
  for (let chain = before(size); chain; chain = chain.last) {
    found.push(chain.pair);
  }
  return found.reverse();
}

/// Stretches of lines that have the same `key`, as [key, first, end].
function stretchesOf(lines, first, end, keyOf) {
  const found = [];
  for (let at = first; at < end; ++at) {
    const key = keyOf(lines[at]);
    if (found.length && (found.at(-1)[0] === key || key === null)) {
      found.at(-1)[2] = at + 1; // a bracket belongs to what it closes
    } else {
      found.push([key, at, at + 1]);
    }
  }
  return found;
}

/// Appends to the list that a map has for a key.
function add(lists, key, value) {
  if (!lists.has(key)) {
    lists.set(key, []);
  }
  lists.get(key).push(value);
}

/// What reads values says more about where something happens than what reads
/// none, such as a weight.
const weightOf = (line) => (/%.*%/.test(line.text) ? 4 : 1);

const weightsOf = (lines, [, first, end]) => lines.slice(first, end).reduce((sum, line) => sum + weightOf(line), 0);

/// Stretches of the same key that face each other.
function facing(left, right, weights) {
  const places = new Map();
  right.forEach(([key], j) => add(places, key, j));
  const ranks = new Map();
  const pairs = [];
  left.forEach(([key], i) => {
    const there = key === null ? [] : (places.get(key) ?? []);
    // Of very many, those of about the same rank.
    const rank = ranks.get(key) ?? 0;
    ranks.set(key, rank + 1);
    const start = Math.max(0, Math.min(rank - MOST_FACING / 2, there.length - MOST_FACING));
    for (const j of there.slice(start, start + MOST_FACING)) {
      pairs.push([i, j, Math.min(weights[0][i], weights[1][j])]);
    }
  });
  return heaviest(pairs, right.length);
}

class LineUp {
  constructor(left, right) {
    Object.assign(this, { left, right, pairs: [] });
    const [texts, operations, paths] = [new Numbering(), new Numbering(), new Numbering()];
    const numbered = (lines) => ({
      texts: lines.map((line) => texts.of(comparable(line.text))),
      operations: lines.map((line) => operations.of(operationIn(line.text))),
      paths: lines.map((line) => (line.path === null ? -1 : paths.of(line.path))),
    });
    [this.a, this.b] = [numbered(left), numbered(right)];
  }

  /// How much it is worth that lines i and j face each other.
  likeness(i, j) {
    const { a, b } = this;
    if (a.paths[i] !== b.paths[j]) {
      return 0;
    }
    const worth = a.texts[i] === b.texts[j] ? 2 : a.operations[i] === b.operations[j] ? 1 : 0;
    return a.paths[i] < 0 ? worth : worth + 2;
  }

  only(a1, a2, b1, b2) {
    for (let at = a1; at < a2; ++at) {
      this.pairs.push([at, -1]);
    }
    for (let at = b1; at < b2; ++at) {
      this.pairs.push([-1, at]);
    }
  }

  /// Lines a1 to a2 against b1 to b2, by stretches of what `keys` say, the
  /// outermost first.
  align(a1, a2, b1, b2, [keyOf, ...inner]) {
    if (a1 === a2 || b1 === b2) {
      this.only(a1, a2, b1, b2);
      return;
    }
    if (!keyOf) {
      this.alignLines(a1, a2, b1, b2);
      return;
    }
    const [left, right] = [stretchesOf(this.left, a1, a2, keyOf), stretchesOf(this.right, b1, b2, keyOf)];
    const weights = [left.map((stretch) => weightsOf(this.left, stretch)), right.map((stretch) => weightsOf(this.right, stretch))];
    let [a, b] = [a1, b1];
    for (const [i, j] of facing(left, right, weights)) {
      this.align(a, left[i][1], b, right[j][1], inner);
      this.align(left[i][1], left[i][2], right[j][1], right[j][2], inner);
      [a, b] = [left[i][2], right[j][2]];
    }
    this.align(a, a2, b, b2, inner);
  }

  /// The lines that are most alike, in their order.
  alignLines(a1, a2, b1, b2) {
    const [rows, columns] = [a2 - a1, b2 - b1];
    if (rows * columns > MOST_ALIGNED) {
      this.put(this.inOrder(a1, a2, b1, b2), a1, a2, b1, b2);
      return;
    }
    const width = columns + 1;
    const sums = new Uint32Array((rows + 1) * width);
    for (let i = rows - 1; i >= 0; --i) {
      for (let j = columns - 1, at = i * width + j; j >= 0; --j, --at) {
        const worth = this.likeness(a1 + i, b1 + j);
        sums[at] = Math.max(worth && worth + sums[at + width + 1], sums[at + width], sums[at + 1]);
      }
    }
    const pairs = [];
    for (let i = 0, j = 0; i < rows && j < columns; ) {
      const at = i * width + j;
      const worth = this.likeness(a1 + i, b1 + j);
      if (worth && worth + sums[at + width + 1] === sums[at]) {
        pairs.push([a1 + i++, b1 + j++]);
      } else if (sums[at + width] >= sums[at + 1]) {
        ++i;
      } else {
        ++j;
      }
    }
    this.put(pairs, a1, a2, b1, b2);
  }

  /// Each line with the next of its path, which takes no table of pairs.
  inOrder(a1, a2, b1, b2) {
    const places = new Map();
    for (let b = b2 - 1; b >= b1; --b) {
      add(places, this.b.paths[b], b);
    }
    const pairs = [];
    let next = b1;
    for (let a = a1; a < a2; ++a) {
      const there = this.a.paths[a] < 0 ? [] : (places.get(this.a.paths[a]) ?? []);
      while (there.at(-1) < next) {
        there.pop();
      }
      if (there.length) {
        pairs.push([a, there.pop()]);
        next = pairs.at(-1)[1] + 1;
      }
    }
    return pairs;
  }

  put(pairs, a1, a2, b1, b2) {
    let [a, b] = [a1, b1];
    for (const [i, j] of pairs) {
      this.only(a, i, b, j);
      this.pairs.push([i, j]);
      [a, b] = [i + 1, j + 1];
    }
    this.only(a, a2, b, b2);
  }

  /// Lines on the left that face nothing get a copy of what has their path
  /// somewhere else on the right, and faces nothing there.
  addCopies() {
    const free = new Map();
    for (let at = this.pairs.length - 1; at >= 0; --at) {
      const [i, j] = this.pairs[at];
      if (i < 0 && this.b.paths[j] >= 0) {
        add(free, this.b.paths[j], j);
      }
    }
    this.pairs = this.pairs.map(([i, j]) => {
      const copy = j < 0 ? free.get(this.a.paths[i])?.pop() : undefined;
      return copy === undefined ? [i, j, false] : [i, copy, true];
    });
  }

  /// Whether what faces each other says the same.
  areAlike(i, j) {
    return i >= 0 && j >= 0 && this.a.texts[i] === this.b.texts[j];
  }
}

/// Pairs of lines that face each other, in order: [left, right, whether the
/// right one is a copy, whether both say the same]; -1: nothing there. A kernel
/// is the function that it becomes.
function lineUp(left, right, kernels) {
  const lines = new LineUp(left, right);
  const symbolOf = (line) => line.symbol ?? kernels[line.kernel]?.symbol ?? null;
  lines.align(0, left.length, 0, right.length, [symbolOf, (line) => line.path]);
  lines.addCopies();
  return lines.pairs.map(([i, j, isCopy]) => [i, j, isCopy, lines.areAlike(i, j)]);
}
