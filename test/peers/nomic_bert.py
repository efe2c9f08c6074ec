# ===- nomic_bert.py - Nomic BERT in PyTorch -------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Nomic BERT (Nussbaum et al., Nomic Embed), whose code is no part of the library: it is published beside the
checkpoints (nomic-ai/contrastors, modeling_hf_nomic_bert.py). Names, defaults and mathematics are those of that file;
what decides how it is trained or how fast it runs is not here.
"""

import math

import torch
from torch import nn
from torch.nn import functional
from transformers import PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput, MaskedLMOutput, SequenceClassifierOutput

GATED = {"glu": torch.sigmoid, "geglu": functional.gelu, "swiglu": functional.silu}
TANH = ["gelu_new", "gelu_fast", "gelu_pytorch_tanh"]


class NomicBertConfig(PretrainedConfig):
    model_type = "nomic_bert"
    attribute_map = {"hidden_size": "n_embd"}

    def __init__(self, **keys):
        known = {
            "vocab_size": 50257, "n_positions": 1024, "n_embd": 768, "n_layer": 12, "n_head": 12, "n_inner": None,
            "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "scale_attn_weights": True, "resid_pdrop": 0.1,
            "embd_pdrop": 0.1, "attn_pdrop": 0.1, "summary_type": "cls_index", "reorder_and_upcast_attn": False,
            "prenorm": False, "parallel_block": False, "parallel_block_tied_norm": False, "rotary_emb_fraction": 0.0,
            "fused_dropout_add_ln": False, "fused_bias_fc": False, "use_flash_attn": False, "use_xentropy": False,
            "qkv_proj_bias": True, "rotary_emb_base": 10_000, "rotary_emb_scale_base": None, "rotary_emb_interleaved": False,
            "mlp_fc1_bias": True, "mlp_fc2_bias": True, "use_rms_norm": False, "causal": False, "type_vocab_size": 2,
            "dense_seq_output": True, "pad_vocab_size_multiple": 1, "rotary_scaling_factor": None, "max_trained_positions": 2048,
        }  # fmt: skip
        for key, value in known.items():
            setattr(self, key, keys.pop(key, value))
        super().__init__(**keys)


class Words(nn.Module):
    def __init__(self, config):
        super().__init__()
        multiple, width = config.pad_vocab_size_multiple, config.n_embd
        self.word_embeddings = nn.Embedding(math.ceil(config.vocab_size / multiple) * multiple, width)
        if config.rotary_emb_fraction <= 0 and config.n_positions > 0:
            self.position_embeddings = nn.Embedding(config.n_positions, width)
        if config.type_vocab_size > 0:
            self.token_type_embeddings = nn.Embedding(config.type_vocab_size, width)

    def forward(self, tokens, types):
        x = self.word_embeddings(tokens)
        if hasattr(self, "token_type_embeddings"):
            x = x + self.token_type_embeddings(torch.zeros_like(tokens) if types is None else types)
        if hasattr(self, "position_embeddings"):
            x = x + self.position_embeddings.weight[: tokens.shape[1]]
        return x


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.Wqkv = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.qkv_proj_bias)
        self.out_proj = nn.Linear(config.n_embd, config.n_embd, bias=config.qkv_proj_bias)

    def rotated(self, x):
        """`x` is [batch, heads, tokens, head_width]. Of the columns that are rotated, pairs are neighbours or halves apart."""
        config, length = self.config, x.shape[2]
        turned = x.shape[-1] * config.rotary_emb_fraction
        if turned <= 0:
            return x
        base = float(config.rotary_emb_base)
        factor, trained = config.rotary_scaling_factor, config.max_trained_positions
        if factor and length > trained:
            base *= (factor * length / trained - (factor - 1)) ** (turned / (turned - 2))
        rates = base ** -(torch.arange(0, turned, 2, dtype=torch.float64) / turned)
        angles = torch.outer(torch.arange(length, dtype=torch.float64), rates)
        cosines, sines = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        pairs = cosines.shape[1]
        part, rest = x[..., : 2 * pairs], x[..., 2 * pairs :]
        if config.rotary_emb_interleaved:
            left, right = part[..., ::2], part[..., 1::2]
        else:
            left, right = part[..., :pairs], part[..., pairs:]
        both = [left * cosines - right * sines, right * cosines + left * sines]
        joined = torch.stack(both, -1).flatten(-2) if config.rotary_emb_interleaved else torch.cat(both, -1)
        return torch.cat([joined, rest], -1)

    def forward(self, x, mask):
        batch, length, width = x.shape
        heads = self.config.n_head
        query, key, value = self.Wqkv(x).reshape(batch, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
        scores = self.rotated(query) @ self.rotated(key).transpose(-1, -2) / math.sqrt(width // heads)
        shares = scores.masked_fill(~mask[:, None, None], -torch.inf).softmax(-1)
        return self.out_proj((shares @ value).transpose(1, 2).reshape(batch, length, width))


class FeedForward(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.gate = GATED.get(config.activation_function)
        width, up, down = config.n_embd, config.mlp_fc1_bias, config.mlp_fc2_bias
        if self.gate:
            hidden = config.n_inner if config.n_inner is not None else int(8 * width / 3)
            hidden = (hidden + 255) // 256 * 256
            self.fc11 = nn.Linear(width, hidden, bias=up)
            self.fc12 = nn.Linear(width, hidden, bias=up)
        else:
            hidden = config.n_inner if config.n_inner is not None else 4 * width
            self.fc1 = nn.Linear(width, hidden, bias=up)
        self.fc2 = nn.Linear(hidden, width, bias=down)

    def forward(self, x):
        # Without a gate it is the exact function, whichever kind of it the configuration names.
        return self.fc2(self.fc11(x) * self.gate(self.fc12(x)) if self.gate else functional.gelu(self.fc1(x)))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attn, self.mlp = Attention(config), FeedForward(config)
        self.norm1 = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        self.norm2 = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)

    def forward(self, x, mask):
        x = self.norm1(x + self.attn(x, mask))
        return self.norm2(x + self.mlp(x))


class Encoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layers = nn.ModuleList(Block(config) for _ in range(config.n_layer))


class Pooler(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.dense = nn.Linear(config.n_embd, config.n_embd)

    def forward(self, x):
        return torch.tanh(self.dense(x[:, 0]))


class NomicBertPreTrainedModel(PreTrainedModel):
    config_class = NomicBertConfig

    def _init_weights(self, module):
        pass


class NomicBertModel(NomicBertPreTrainedModel):
    def __init__(self, config, add_pooling_layer=True):
        super().__init__(config)
        self.embeddings = Words(config)
        self.emb_ln = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        self.encoder = Encoder(config)
        self.pooler = Pooler(config) if add_pooling_layer else None

    def forward(self, input_ids, attention_mask, token_type_ids=None, return_dict=True):
        x = self.emb_ln(self.embeddings(input_ids, token_type_ids))
        for layer in self.encoder.layers:
            x = layer(x, attention_mask.bool())
        return BaseModelOutput(last_hidden_state=x)


class NomicBertForSequenceClassification(NomicBertPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.bert = NomicBertModel(config)
        self.classifier = nn.Linear(config.n_embd, config.num_labels)

    def forward(self, **given):
        return SequenceClassifierOutput(logits=self.classifier(self.bert.pooler(self.bert(**given).last_hidden_state)))


class Transform(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.kind = config.activation_function
        self.dense = nn.Linear(config.n_embd, config.n_embd, bias=config.mlp_fc1_bias)
        self.layer_norm = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)

    def forward(self, x):
        x = self.dense(x)
        approximate = "tanh" if self.kind in TANH else "none"
        return self.layer_norm(functional.silu(x) if self.kind == "swiglu" else functional.gelu(x, approximate=approximate))


class NomicBertForPreTraining(NomicBertPreTrainedModel):
    """The scores are those of the table of words, which a file has once."""

    def __init__(self, config):
        super().__init__(config)
        self.bert = NomicBertModel(config, add_pooling_layer=False)
        self.cls = nn.Module()
        self.cls.predictions = nn.Module()
        self.cls.predictions.transform = Transform(config)
        self.cls.predictions.decoder = nn.Module()
        rows = len(self.bert.embeddings.word_embeddings.weight)
        self.cls.predictions.decoder.bias = nn.Parameter(torch.zeros(rows)) if config.mlp_fc1_bias else None

    def forward(self, **given):
        predictions = self.cls.predictions
        x = predictions.transform(self.bert(**given).last_hidden_state)
        words = self.bert.embeddings.word_embeddings.weight
        return MaskedLMOutput(logits=functional.linear(x, words, predictions.decoder.bias))
