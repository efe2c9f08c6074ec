#===- model_cases.py - Golden cases of small whole models -----------------===#
#
# SPDX-License-Identifier: Apache-2.0
#
# Layer upon layer, as the papers stack them: what one operator's case cannot
# show is whether the right value reaches it.
#
#===-----------------------------------------------------------------------===#

import numpy as np

import oracle
from case import Case

EPS = 1e-6


class Model(Case):
    """Layers by their names in the description, values beside them."""

    def __init__(self, name):
        super().__init__(name)
        self.value = {}

    def put(self, name, op, value, **keys):
        self.layer(name, op, **keys)
        self.value[name] = value
        return name

    def norm(self, name, source):
        return self.put(
            name, "layer_norm",
            self.net.layer_norm(name, self.value[source], EPS),
            input=source, eps=EPS,
        )

    def add(self, name, *sources):
        total = sum(self.value[source] for source in sources)
        return self.put(name, "add", total, inputs=list(sources))

    def attention(
        self, name, source, heads, memory=None, masks=None, memory_slots=None,
        path=None, weights=None, **options,
    ):
        """`path` is where the weights are that `weights` says to share."""
        masks = masks or {}
        if memory_slots:
            options["memory"] = memory_slots
        value = self.net.multi_head_attention(
            path or name, self.value[source], heads,
            key=self.value[memory or source],
            **{role: self.value[mask] for role, mask in masks.items()},
            **options,
        )
        return self.put(
            name, "multi_head_attention", value, query=source,
            key=memory or source, heads=heads, weights=weights, **masks,
            **options,
        )

    def ffn(self, name, source, hidden, activation):
        value = self.net.feed_forward(name, self.value[source], hidden, activation)
        return self.put(name, "feed_forward", value, input=source,
                        hidden=hidden, activation=activation)

    def embed(self, name, source, vocab, width):
        table = self.net.weight(name + ".weight", vocab, width)
        return self.put(name, "embedding", table[self.value[source]],
                        input=source, vocab=vocab, width=width)


def vision():
    """Pre-LN ViT with horizontal, vertical and one omnidirectional layer."""
    m = Model("tiny_vit")
    image = m.values("image", 2, 1, 6, 8)
    tokens = m.net.linear("patches", oracle.patches(image, 2), 12)
    m.put("patches", "patch_embedding", tokens, input="image", patch=2, width=12)
    first = np.broadcast_to(m.net.weight("token.weight", 12), (2, 1, 12))
    tokens = np.concatenate([first, tokens], axis=1)
    m.put("token", "class_token", tokens, input="patches")
    tokens = tokens + m.net.weight("embedded.weight", 13, 12, scale=0.5)
    m.put("embedded", "positions", tokens, input="token", kind="learned")
    x, states = "embedded", []
    for i in range(3):
        m.norm(f"norm1_{i}", x)
        m.attention(f"attn_{i}", f"norm1_{i}", 3, horizontal=True,
                    vertical={"if": True, "width": 3})
        m.add(f"mid_{i}", x, f"attn_{i}")
        m.norm(f"norm2_{i}", f"mid_{i}")
        m.ffn(f"ffn_{i}", f"norm2_{i}", 24, "gelu_tanh")
        x = m.add(f"out_{i}", f"mid_{i}", f"ffn_{i}")
        states.append(x)
    options = dict(pool="after_attention", activation="gelu_tanh")
    value = m.net.omni_attention(
        "omni", [m.value[s] for s in states], 3, 24, **options)
    m.put("omni", "omni_attention", value, inputs=states, heads=3, hidden=24,
          **options)
    m.add("all", x, "omni")
    m.norm("norm", "all")
    m.put("pooled", "pool", m.value["norm"][:, 0], input="norm", kind="first")
    m.put("head", "linear", m.net.linear("head", m.value["pooled"], 5),
          input="pooled", width=5)
    m.output("logits", "head", m.value["head"])
    return m


def words():
    """Pre-LN block on the words of patches: 16 tokens, heads of 6 channels."""
    m = Model("tiny_words")
    m.value["words"] = m.values("words", 9, 16, 18)
    x = "words"
    for i in range(2):
        m.norm(f"norm1_{i}", x)
        m.attention(f"attn_{i}", f"norm1_{i}", 3, bias=False, output_bias=True)
        m.add(f"mid_{i}", x, f"attn_{i}")
        m.norm(f"norm2_{i}", f"mid_{i}")
        m.ffn(f"ffn_{i}", f"norm2_{i}", 40, "gelu_erf")
        x = m.add(f"out_{i}", f"mid_{i}", f"ffn_{i}")
    m.output("y", x, m.value[x])
    return m


def translation():
    """Post-LN encoder and decoder with padding, causal and cross attention."""
    m = Model("tiny_translation")
    source = m.net.draw.integers(17, 2, 7)
    source[1, 4:] = 0
    target = m.net.draw.integers(17, 2, 5)
    target[0, 3:] = 0
    m.value["source"] = m.input("source", source, bound=17)
    m.value["target"] = m.input("target", target, bound=17)
    m.put("source_valid", "padding_mask", source != 0, input="source", pad=0)
    m.put("target_valid", "padding_mask", target != 0, input="target", pad=0)
    gate = {"if": True, "width": 4}
    m.embed("embed", "source", 17, 16)
    m.embed("target_embed", "target", 17, 16)
    for name, source_name in (("x", "embed"), ("y", "target_embed")):
        value = m.value[source_name]
        m.put(name, "positions",
              value + oracle.sinusoid(value.shape[1], 16),
              input=source_name, kind="sinusoid")
    padded = {"key_valid": "source_valid"}
    x = "x"
    for i in range(2):
        m.attention(f"self_{i}", x, 2, masks=padded, bias=False,
                    horizontal=True, vertical=gate)
        m.add(f"self_add_{i}", x, f"self_{i}")
        m.norm(f"self_norm_{i}", f"self_add_{i}")
        m.ffn(f"ffn_{i}", f"self_norm_{i}", 32, "relu")
        m.add(f"ffn_add_{i}", f"self_norm_{i}", f"ffn_{i}")
        x = m.norm(f"encoder_{i}", f"ffn_add_{i}")
    m.attention("causal", "y", 2, masks={"key_valid": "target_valid"},
                bias=False, causal=True, horizontal=True)
    m.add("causal_add", "y", "causal")
    m.norm("causal_norm", "causal_add")
    m.attention("cross", "causal_norm", 2, memory=x, masks=padded, bias=False,
                horizontal=True, vertical=gate)
    m.add("cross_add", "causal_norm", "cross")
    m.norm("cross_norm", "cross_add")
    m.ffn("decoder_ffn", "cross_norm", 32, "relu")
    m.add("decoder_add", "cross_norm", "decoder_ffn")
    m.norm("decoder", "decoder_add")
    table = m.net.weight("target_embed.weight", 17, 16)
    m.put("head", "linear", oracle.linear(m.value["decoder"], table.T),
          input="decoder", width=17, bias=False, weight="target_embed.weight",
          transposed=True)
    m.put("logits", "scale", 0.25 * m.value["head"], input="head", by=0.25)
    m.output("memory", x, m.value[x])
    m.output("logits", "logits", m.value["logits"])
    return m


def captions():
    """M2: memory slots, and a decoder layer meshed with two encoder levels."""
    m = Model("tiny_captions")
    words = m.net.draw.integers(11, 2, 5)
    words[1, 3:] = 1
    regions = m.net.draw.booleans(2, 7)
    regions[0] = True
    m.value["words"] = m.input("words", words, bound=11)
    m.value["regions"] = m.input("regions", regions)
    m.value["features"] = m.values("features", 2, 7, 9)
    m.put("project", "linear", m.net.linear("project", m.value["features"], 12),
          input="features", width=12)
    m.put("relu", "activation", m.net.activation(m.value["project"], "relu"),
          input="project", kind="relu")
    x, levels = m.norm("level_0", "relu"), []
    for i in (1, 2):
        m.attention(f"attn_{i}", x, 2, masks={"key_valid": "regions"}, memory_slots=3,
                    horizontal=True)
        m.add(f"attn_add_{i}", x, f"attn_{i}")
        x = m.norm(f"level_{i}", f"attn_add_{i}")
        levels.append(x)

    m.put("valid", "padding_mask", words != 1, input="words", pad=1)
    m.embed("embed", "words", 11, 12)
    m.put("ids", "position_ids", np.where(words != 1, np.arange(5) + 1, 0),
          valid="valid")
    m.embed("places", "ids", 8, 12)
    y = m.add("placed", "embed", "places")

    def mask(name, source):
        return m.put(name, "mask_rows",
                     m.net.mask_rows(m.value[source], m.value["valid"]),
                     input=source, valid="valid")

    m.attention("self", y, 2, masks={"key_valid": "valid"}, causal=True)
    m.add("self_add", y, "self")
    m.norm("self_norm", "self_add")
    s, gated = mask("s", "self_norm"), []
    for i, level in enumerate(levels):
        shared = {"path": "cross_0", "weights": "cross_0"} if i else {}
        m.attention(f"cross_{i}", s, 2, memory=level,
                    masks={"key_valid": "regions"}, **shared)
        m.add(f"cross_add_{i}", s, f"cross_{i}")
        norm = m.net.layer_norm("cross_norm_0", m.value[f"cross_add_{i}"], EPS)
        m.put(f"cross_norm_{i}", "layer_norm", norm, input=f"cross_add_{i}",
              eps=EPS, weights="cross_norm_0" if i else None)
        c = mask(f"c_{i}", f"cross_norm_{i}")
        both = np.concatenate([m.value[s], m.value[c]], axis=-1)
        m.put(f"both_{i}", "concat", both, inputs=[s, c])
        m.put(f"gate_{i}", "linear", m.net.linear(f"gate_{i}", both, 12),
              input=f"both_{i}", width=12)
        share = m.net.activation(m.value[f"gate_{i}"], "sigmoid")
        m.put(f"share_{i}", "activation", share, input=f"gate_{i}",
              kind="sigmoid")
        gated.append(m.put(f"gated_{i}", "multiply", share * m.value[c],
                           inputs=[f"share_{i}", c]))
    m.add("meshed", *gated)
    m.put("mean", "scale", m.value["meshed"] * 0.75, input="meshed", by=0.75)
    u = mask("u", "mean")
    m.ffn("ffn", u, 24, "relu")
    m.add("ffn_add", u, "ffn")
    m.norm("ffn_norm", "ffn_add")
    y = mask("y", "ffn_norm")
    m.put("logits", "linear", m.net.linear("logits", m.value[y], 11, bias=False),
          input=y, width=11, bias=False)
    m.put("words_next", "softmax", m.net.softmax(m.value["logits"], log=True),
          input="logits", log=True)
    m.output("meshed", u, m.value[u])
    m.output("log_probabilities", "words_next", m.value["words_next"])
    return m


def bert():
    """Summed embeddings, post-LN blocks, a tanh pooler."""
    m = Model("tiny_bert")
    tokens = m.net.draw.integers(23, 3, 11, dtype=np.int64)
    types = m.net.draw.integers(2, 3, 11, dtype=np.int64)
    valid = np.arange(11)[None, :] < np.array([11, 7, 1])[:, None]
    m.value["tokens"] = m.input("tokens", tokens, bound=23)
    m.value["types"] = m.input("types", types, bound=2)
    m.value["valid"] = m.input("valid", valid)
    m.embed("words", "tokens", 23, 14)
    m.embed("segments", "types", 2, 14)
    m.add("sum", "words", "segments")
    m.put("placed", "positions",
          m.value["sum"] + m.net.weight("placed.weight", 16, 14)[:11],
          input="sum", kind="learned", length=16)
    x = m.norm("embedded", "placed")
    for i in range(2):
        m.attention(f"attn_{i}", x, 2, masks={"key_valid": "valid"})
        m.add(f"mid_{i}", x, f"attn_{i}")
        m.norm(f"norm1_{i}", f"mid_{i}")
        m.ffn(f"ffn_{i}", f"norm1_{i}", 28, "gelu_erf")
        m.add(f"out_{i}", f"norm1_{i}", f"ffn_{i}")
        x = m.norm(f"norm2_{i}", f"out_{i}")
    m.put("first", "pool", m.value[x][:, 0], input=x, kind="first")
    m.put("dense", "linear", m.net.linear("dense", m.value["first"], 14),
          input="first", width=14)
    m.put("pooler", "activation", np.tanh(m.value["dense"]), input="dense",
          kind="tanh")
    m.output("hidden", x, m.value[x])
    m.output("pooled", "pooler", m.value["pooler"])
    return m


def omni_language():
    """OmniNet with partitions of three layers and both causal orders."""
    m = Model("tiny_omninet_lm")
    tokens = m.net.draw.integers(13, 2, 5)
    m.value["tokens"] = m.input("tokens", tokens, bound=13)
    m.embed("words", "tokens", 13, 12)
    x = m.put("x0", "positions", m.value["words"] + oracle.sinusoid(5, 12),
              input="words", kind="sinusoid")
    states = []
    for i in range(1, 7):
        if i % 3 == 0:
            causal = "flattened" if i == 3 else "block"
            value = m.net.omni_attention(
                f"omni_{i}", [m.value[s] for s in states], 2, 24,
                causal=causal, bias=False)
            m.put(f"omni_{i}", "omni_attention", value, inputs=states, heads=2,
                  hidden=24, causal=causal, bias=False)
            x = m.add(f"x{i}", x, f"omni_{i}")
            states = []
            continue
        m.norm(f"norm1_{i}", x)
        m.attention(f"attn_{i}", f"norm1_{i}", 2, causal=True, bias=False)
        m.add(f"mid_{i}", x, f"attn_{i}")
        m.norm(f"norm2_{i}", f"mid_{i}")
        m.ffn(f"ffn_{i}", f"norm2_{i}", 24, "relu")
        x = m.add(f"x{i}", f"mid_{i}", f"ffn_{i}")
        states.append(x)
    m.norm("norm", x)
    m.put("head", "linear", m.net.linear("head", m.value["norm"], 13),
          input="norm", width=13)
    m.output("logits", "head", m.value["head"])
    return m


def cases():
    yield vision()
    yield words()
    yield translation()
    yield captions()
    yield bert()
    yield omni_language()
