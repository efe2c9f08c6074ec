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

    def attention(self, name, source, heads, memory=None, masks=None, **options):
        masks = masks or {}
        value = self.net.multi_head_attention(
            name, self.value[source], heads,
            key=self.value[memory or source],
            **{role: self.value[mask] for role, mask in masks.items()},
            **options,
        )
        return self.put(
            name, "multi_head_attention", value, query=source,
            key=memory or source, heads=heads, **masks, **options,
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
    yield bert()
    yield omni_language()
