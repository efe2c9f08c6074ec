# ===- bits.py - Does an instruction compute what the emulation does? ------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Launches of the tests of instructions, whose results the emulation and the interpreter have given where the list was made, in each
way in which matrix products may add; and sums that tell how they are added."""

import array

from store import Skipped


def is_none(word):
    """Whether the bits of an f32 are no number: of most instructions PTX does not say which one."""
    return word & 0x7FFFFFFF > 0x7F800000


def differing(ours, theirs):
    """Words of two buffers that differ, as (place, ours, theirs)."""
    ours, theirs = (array.array("I", data[: len(data) // 4 * 4]) for data in (ours, theirs))
    return [(i, x, y) for i, (x, y) in enumerate(zip(ours, theirs)) if x != y and not (is_none(x) and is_none(y))]


def measure(bench, item):
    """Which ways leave the bits of the device, or how far the nearest is away."""
    if item["capability"] > bench.device.capability() or (item["exact"] and item["capability"] != bench.device.capability()):
        raise Skipped(f"the device has no code of {item['capability'] / 10}")
    after = bench.launched(item, bench.buffers(item))
    if "sums" in item:
        return sums(item, after)
    found = {}
    for way in item["ways"]:
        expected = [bench.read(item["archive"], f"{item['key']}.{i}.{way}") for i in range(item["buffers"])]
        found[way] = [(i, *place) for i in range(item["buffers"]) for place in differing(after[i], expected[i])]
    equal = [way for way, places in found.items() if not places]
    if equal:
        return {"equal": equal}
    way, places = min(found.items(), key=lambda pair: len(pair[1]))
    buffer, word, ours, theirs = places[0]
    told = {"nearest": way, "words": len(places), "first": f"word {word} of buffer {buffer}: the device has {ours:08x}, the emulation {theirs:08x}"}
    return told if item["approximate"] else {"wrong": "other bits", **told}


def sums(item, after):
    """What each case of an addition gave, beside what each way gives, as bits of f32."""
    result = array.array("I", after[-1])
    rows, counts = [], dict.fromkeys(item["ways"], 0)
    for name, word, expected in item["sums"]:
        given = result[word]
        alike = [way for way, bits in zip(item["ways"], expected) if bits == given or (is_none(bits) and is_none(given))]
        for way in alike:
            counts[way] += 1
        rows.append([name, f"{given:08x}", *(f"{bits:08x}" for bits in expected)])
    return {"cases": len(rows), "equal": counts, "ways": item["ways"], "sums": rows}
