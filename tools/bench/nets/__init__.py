# ===- nets - The benchmark's models in the frameworks compared with --------=== #
# SPDX-License-Identifier: Apache-2.0
"""The models that peers run, written from the meaning of the descriptions.

A family is a function of layers `f` (layers_torch.py, layers_jax.py), the parameters
of the description and the inputs. It reads the weights by the names that hova gives
them, and returns the outputs in the order of the description. `prepare` is what a user
does to the weights of a file before all runs.
"""

from . import (
    bert,
    captions,
    encoder,
    language_model,
    linear_attention,
    long_range,
    omninet,
    rotary,
    swin,
    tnt,
    tokens_to_token,
    towers,
    translation,
    vit,
)

FAMILIES = {
    "vit_b16": vit,
    "vit_b32": vit,
    "swin_t": swin,
    "swinv2_t": swin,
    "t2t_vit_14": tokens_to_token,
    "tnt_s": tnt,
    "omninet_b16": omninet,
    "omninet_b32": omninet,
    "bert_base": bert,
    "minilm_l6": bert,
    "vanilla_hv": translation,
    "m2": captions,
    "lm": language_model,
    "omninet_lm": language_model,
    "lra": long_range,
    "modernbert": rotary,
    "llama": rotary,
    "qwen3": rotary,
    "dinov2": towers,
    "siglip": towers,
    "encoder": encoder,
    "token_performer": linear_attention,
    "causal_performer": linear_attention,
}
