# ===- suites.py - What ./dev bench measures ---------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The cases of each suite: a description and its settings.

A new model or kind of attention is a line here and, for peers, in nets/.
"""

BATCHES = (1, 8)
BOTH = ["horizontal=true", "vertical=true"]


def batched(models):
    return [
        (model, [*settings, f"batch={batch}"])
        for batch in BATCHES
        for model, settings in models
    ]


# Of tools/bench/gpu, which has batches of its own, in the order of what decides.
GPU = [
    ("vit_b16", []),
    ("bert_base", []),
    ("lm", []),
    ("swin_t", []),
    ("lm", ["attention=performer"]),
    # 256 tokens are too few blocks for it.
    ("lm", ["attention=bigbird", "length=1024"]),
    ("t2t_vit_14", []),
    ("tnt_s", []),
    ("omninet_b16", []),
    ("m2", []),
    ("vit_b16", BOTH),
    ("lra", ["attention=performer"]),
]

DENSE = [
    ("vit_b16", []),
    ("bert_base", []),
    ("minilm_l6", []),
    ("vanilla_hv", []),
    ("vanilla_hv", BOTH),
    ("swin_t", []),
    ("swin_t", BOTH),
]
IMAGES = [
    ("swin_t", []),
    ("swin_t", BOTH),
    ("swinv2_t", []),
    ("t2t_vit_14", []),
    ("t2t_vit_14", BOTH),
    ("tnt_s", []),
    ("omninet_b16", ["partition=4"]),
    ("omninet_b16", ["partition=12"]),
]
SEQUENCES = [
    ("m2", []),
    ("m2", BOTH),
    *(
        ("lra", [f"task={task}", f"attention={kind}"])
        for task in ("text", "retrieval", "listops")
        for kind in ("softmax", "performer", "linformer", "bigbird")
    ),
]
LANGUAGE = [
    *(("lm", [f"attention={kind}"]) for kind in ("softmax", "performer", "realformer")),
    # 256 tokens are too few blocks for it.
    ("lm", ["attention=bigbird", "length=1024"]),
    *(("omninet_lm", [f"attend={kind}"]) for kind in ("full", "performer", "bigbird")),
]
# The library of models: an encoder of 512 tokens, two towers of images, and the first 512
# tokens of two decoders, of whose equal layers some are left out.
LIBRARY = [
    ("modernbert", ["length=512"]),
    ("dinov2", ["patch=14", "width=384", "heads=6"]),
    ("siglip", ["tower=image", "task=embed"]),
    (
        "llama",
        ["width=2048", "heads=32", "groups=8", "hidden=8192", "theta=500000.0"]
        + ["eps=1e-5", "depth=4", "length=512"],
    ),
    (
        "qwen3",
        ["width=1024", "heads=16", "groups=8", "head=128", "hidden=3072"]
        + ["theta=1000000.0", "vocab=32000", "depth=7", "length=512"],
    ),
]

# What grows with the length alone: few layers, and no large output projection.
LENGTHS = (4096, 16384)
GROWTH = [
    (model, [*settings, f"length={length}", "batch=1"])
    for model, settings in (
        ("lm", ["attention=performer", "depth=2", "vocab=1000"]),
        ("lra", ["attention=performer", "depth=2"]),
        ("lra", ["attention=linformer", "depth=2"]),
        ("lra", ["attention=bigbird", "depth=2"]),
    )
    for length in LENGTHS
]

SUITES = {
    "dense": batched(DENSE),
    "images": batched(IMAGES),
    "sequences": batched(SEQUENCES),
    "language": batched(LANGUAGE),
    "library": batched(LIBRARY),
    "growth": GROWTH,
}

ODD = [
    ("encoder", settings)
    for settings in (
        *([f"tokens={tokens}"] for tokens in (1, 7, 50, 333)),
        *([f"width={width}", "heads=4"] for width in (40, 100)),
        *(["width=336", f"heads={heads}"] for heads in (1, 3, 28)),
        # The inner block of Transformer in Transformer: the words of 196 patches.
        ["batch=196", "tokens=16", "width=24", "heads=4", "depth=1"],
    )
]
QUICK = [("minilm_l6", ["batch=1"]), ("vanilla_hv", ["batch=1"])]


def select(suites, models, batch):
    """The cases of some suites, each once: of some models if any, of one batch if any."""
    chosen = []
    for case in (case for suite in suites for case in SUITES[suite]):
        model, settings = case
        named = not models or model in models
        if named and case not in chosen and (not batch or f"batch={batch}" in settings):
            chosen.append(case)
    return chosen
