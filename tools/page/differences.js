//===- differences.js - What two texts have in common ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Lines that both texts have once and in the same order are anchors (patience
// diff); between anchors the same is done again, so that a large text costs
// little more than to read it. What has no anchors is compared in full while it
// is small, and is different otherwise.

"use strict";

const MOST_COMPARED = 250000; // pairs of lines, of one stretch without anchors

/// Numbers that keep names of values apart differ from phase to phase.
const comparable = (line) => line.text.trim().replace(/(%[\w.$-]*?)_\d+\b/g, "$1");

/// Pairs of lines [left, right] that face each other, in order; -1: nothing
/// there.
function differences(left, right) {
  const [a, b] = [left.map(comparable), right.map(comparable)];
  const pairs = [];
  const only = (from, to, side) => {
    for (let at = from; at < to; ++at) {
      pairs.push(side === 0 ? [at, -1] : [-1, at]);
    }
  };
  const compare = (a1, a2, b1, b2) => {
    while (a1 < a2 && b1 < b2 && a[a1] === b[b1]) {
      pairs.push([a1++, b1++]);
    }
    let tail = 0;
    while (a1 < a2 - tail && b1 < b2 - tail && a[a2 - tail - 1] === b[b2 - tail - 1]) {
      ++tail;
    }
    const [a3, b3] = [a2 - tail, b2 - tail];
    const common = anchors(a, b, a1, a3, b1, b3) ?? longestCommon(a, b, a1, a3, b1, b3);
    if (common.isFinal || common.length === 0) {
      let [x, y] = [a1, b1];
      for (const [i, j] of common) {
        only(x, i, 0);
        only(y, j, 1);
        pairs.push([i, j]);
        [x, y] = [i + 1, j + 1];
      }
      only(x, a3, 0);
      only(y, b3, 1);
    } else {
      let [x, y] = [a1, b1];
      for (const [i, j] of common) {
        compare(x, i, y, j);
        pairs.push([i, j]);
        [x, y] = [i + 1, j + 1];
      }
      compare(x, a3, y, b3);
    }
    for (let at = 0; at < tail; ++at) {
      pairs.push([a3 + at, b3 + at]);
    }
  };
  compare(0, a.length, 0, b.length);
  return pairs;
}

/// Lines that stand once in both stretches, as long as their order is the same;
/// null: there are none.
function anchors(a, b, a1, a2, b1, b2) {
  const uses = new Map();
  const see = (text, at, side) => {
    const use = uses.get(text) ?? { counts: [0, 0], places: [0, 0] };
    ++use.counts[side];
    use.places[side] = at;
    uses.set(text, use);
  };
  for (let at = a1; at < a2; ++at) {
    see(a[at], at, 0);
  }
  for (let at = b1; at < b2; ++at) {
    see(b[at], at, 1);
  }
  const unique = [...uses.values()].filter(({ counts }) => counts[0] === 1 && counts[1] === 1).map(({ places }) => places);
  unique.sort((x, y) => x[0] - y[0]);
  return unique.length ? longestRising(unique) : null;
}

/// The longest part of `places` whose second numbers rise.
function longestRising(places) {
  const tails = [], before = new Array(places.length).fill(-1);
  places.forEach(([, second], index) => {
    let low = 0, high = tails.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (places[tails[middle]][1] < second) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    before[index] = low ? tails[low - 1] : -1;
    tails[low] = index;
  });
  const found = [];
  for (let index = tails.at(-1) ?? -1; index >= 0; index = before[index]) {
    found.unshift(places[index]);
  }
  return found;
}

/// The longest common subsequence of two short stretches; nothing of long ones.
function longestCommon(a, b, a1, a2, b1, b2) {
  const [rows, columns] = [a2 - a1, b2 - b1];
  const found = [];
  found.isFinal = true;
  if (rows * columns > MOST_COMPARED) {
    return found;
  }
  const width = columns + 1;
  const lengths = new Uint32Array((rows + 1) * width);
  for (let i = rows - 1; i >= 0; --i) {
    for (let j = columns - 1; j >= 0; --j) {
      lengths[i * width + j] = a[a1 + i] === b[b1 + j] ? lengths[(i + 1) * width + j + 1] + 1 : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  for (let i = 0, j = 0; i < rows && j < columns; ) {
    if (a[a1 + i] === b[b1 + j]) {
      found.push([a1 + i++, b1 + j++]);
    } else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) {
      ++i;
    } else {
      ++j;
    }
  }
  return found;
}
