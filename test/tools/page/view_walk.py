# ===- view_walk.py - A walk through a page of hova view ------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The ways through a page, clicked and typed in a browser; each step says what must have happened."""

import json

HOSTILE = ["</script><script>hacked=1</script>", '"><img src=x onerror=hacked=2>', "it's \\ back` ${hacked=3}",
           "-->", "<!--", "ñ 中文 \u202e rtl", "{{hacked}}", "&lt;b&gt;", "javascript:hacked=4"]


def open_page(browser, page, fragment=""):
    browser.open(page, fragment)
    browser.wait("document.documentElement.dataset.ready")


def lit_lines(browser, stage):
    """The texts of the lines of a stage that are lit."""
    return browser.run(f"page.stages.get({stage!r}).then((stage) => stage.lines.filter((line) => page.selection.lights(line)).map((line) => line.text.trim()))")


def wait_for_phases(browser):
    browser.wait("page.phases.turn !== undefined && page.phases.element.dataset.ready === String(page.phases.turn)")


def choose_stages(browser, left, right):
    """In both lists, as a person's choice tells the page."""
    for side, name in (("left", left), ("right", right)):
        browser.run(f"(() => {{ const list = document.querySelector('.pane.{side} select'); list.value = {name!r}; list.dispatchEvent(new Event('change')); }})()")
    wait_for_phases(browser)


def walk_model(browser, layer):
    """Chooses a layer by a click, and finds it in the panel, in every stage and in its kernels."""
    browser.press("1")
    browser.click(f"[data-path='{layer}'] .name")
    browser.wait(f"document.querySelector('#inspector h2')?.textContent === {layer!r}")
    assert browser.texts("#inspector .source")
    for stage in browser.run("page.stages.names"):
        lit = lit_lines(browser, stage)
        assert lit, f"nothing of {layer} in {stage}"
        whole = browser.run(f"page.stages.get({stage!r}).then((stage) => stage.lines.length)")
        assert len(lit) < whole, f"everything in {stage} is {layer}"
    assert browser.run("page.model.kernels.filter((kernel) => page.selection.lightsKernel(kernel)).length") > 0


def walk_keys(browser):
    browser.click("[role=tree] .node .kind")
    first, last = browser.run("[page.model.layers[0].path, page.model.layers.at(-1).path]")
    is_chosen = "String(page.selection.paths) === {!r}".format
    browser.wait(is_chosen(first))
    browser.press("ArrowDown")
    browser.wait(f"!({is_chosen(first)}) && !page.selection.isEmpty")
    browser.press("End")
    browser.wait(is_chosen(last))
    browser.press("Escape")
    browser.wait("page.selection.isEmpty")
    browser.press("/", *last)
    browser.press("Enter")
    browser.wait(is_chosen(last))
    browser.press("Escape")
    browser.wait("page.selection.isEmpty")


def walk_folds(browser):
    """Opens and closes what folds."""
    groups = browser.run("[...document.querySelectorAll('.node[aria-expanded]')].length")
    if not groups:
        return
    rows = browser.run("page.views.get('model').rows.length")
    browser.click(".node[aria-expanded] .fold")
    browser.wait(f"page.views.get('model').rows.length !== {rows}")
    browser.click(".node[aria-expanded] .fold")
    browser.wait(f"page.views.get('model').rows.length === {rows}")


def walk_phases(browser, layer):
    browser.run(f"page.selection.set([{layer!r}])")
    browser.press("2")
    browser.wait("page.tab === 'phases'")
    wait_for_phases(browser)
    stages = browser.run("page.stages.names")
    for left, right in zip(stages, stages[1:]):
        choose_stages(browser, left, right)
        assert browser.run("[...document.querySelectorAll('.pane .line.lit')].length") > 0, (left, right)
    # A line is a way to its layer, and the layer's line of JSON is lit then.
    choose_stages(browser, "description", "assign")
    browser.press("Escape")
    browser.wait("page.selection.isEmpty")
    browser.click(".pane.right .line.coloured")
    browser.wait("!page.selection.isEmpty")
    assert lit_lines(browser, "description")
    choose_stages(browser, "fuse", "assign")
    pairs = browser.run("page.phases.panes.map((pane) => pane.rows.length)")
    assert pairs[0] == pairs[1]
    assert browser.run("page.phases.panes[0].marks.includes('changed') && page.phases.panes[0].marks.includes(null)")
    browser.click("#compares")
    browser.wait("!page.phases.compares.checked")
    wait_for_phases(browser)
    assert not browser.run("page.phases.panes[0].marks.some((mark) => mark)")
    browser.click("#compares")
    browser.wait("page.phases.compares.checked")
    wait_for_phases(browser)


def walk_passes(browser):
    """A click on a pass shows both of its sides, which differ, and a link leads back to them."""
    choose_stages(browser, "import", "fuse")
    browser.click(".passes button")
    wait_for_phases(browser)
    assert browser.run("[page.left, page.right]") == ["fuse.0.before", "fuse.0.after"]
    assert browser.run("location.hash").endswith("left=fuse.0.before&right=fuse.0.after")
    assert browser.run("document.querySelector('.passes button').ariaPressed") == "true"
    assert browser.run("page.phases.panes.every((pane) => pane.marks.includes('changed'))")


def walk_kernels(browser):
    browser.press("3")
    browser.wait("page.tab === 'kernels'")
    numbers = browser.run("page.model.kernels.length")
    browser.click("#kernels th button", "MFLOP")
    browser.wait("document.querySelector('#kernels [aria-sort=descending]')")
    flops = browser.run("[...document.querySelectorAll('#kernels tbody tr')].map((row) => page.model.kernels[row.dataset.kernel]?.flops).filter((flops) => flops !== undefined)")
    assert len(flops) == numbers and flops == sorted(flops, reverse=True)
    browser.click("#kernels tbody tr")
    browser.wait("page.selection.kernel !== null")
    kernel = browser.run("page.selection.kernel")
    assert f"kernel {kernel}" in browser.texts("#inspector h2")[0]
    assert browser.texts("#kernels .loops li")
    for stage in ("fuse", "tile", "code"):
        assert lit_lines(browser, stage)
    browser.click("#kernels .loops a")
    browser.wait("page.selection.paths.length === 1")


def walk_memory(browser):
    browser.press("4")
    browser.wait("page.tab === 'memory'")
    if browser.run("page.model.data.memory.arena.length"):
        browser.click("#memory summary")
        browser.wait("document.querySelector('#memory details').open")
        browser.click("#memory tbody tr")
        browser.wait("document.querySelector('.arena .value.lit')")


def walk_maps(browser, layer):
    if not browser.run("page.views.has('maps')"):
        return
    browser.run(f"page.selection.set([{layer!r}])")
    browser.press("5")
    browser.wait("page.tab === 'maps'")
    heads = browser.run(f"page.views.get('maps').maps.find((map) => map.path === {layer!r}).planes")
    assert browser.run(f"document.querySelectorAll('[data-path={json.dumps(layer)}] canvas').length") == heads
    browser.point(f"figure[data-path='{layer}'] canvas")
    browser.wait("document.querySelector('#maps > p[aria-live]').textContent.includes('query')")
    browser.click(".map-list button:last-child")
    browser.wait("document.querySelector('.map-list button:last-child').classList.contains('lit')")


def walk_link(browser, page):
    """A link leads back to the view and the selection."""
    browser.run("page.open('phases', 'fuse', 'tile')")
    browser.run("page.selection.set([], 1 % page.model.kernels.length)")
    fragment, chosen = browser.run("[location.hash, page.selection.kernel]")
    browser.open("/dev/null")
    open_page(browser, page, fragment)
    assert browser.run("[page.tab, page.left, page.right, page.selection.kernel]") == ["phases", "fuse", "tile", chosen]


def walk(browser, page, layer):
    open_page(browser, page)
    walk_model(browser, layer)
    walk_keys(browser)
    walk_folds(browser)
    walk_phases(browser, layer)
    walk_passes(browser)
    walk_kernels(browser)
    walk_memory(browser)
    walk_maps(browser, layer)
    browser.click("#theme")
    browser.wait("['light', 'dark'].includes(document.documentElement.dataset.theme)")
    walk_link(browser, page)
    assert browser.complaints() == []
