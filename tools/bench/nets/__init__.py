# ===- nets - The benchmark's models in the frameworks compared with --------=== #
# SPDX-License-Identifier: Apache-2.0
"""The models that peers run, written from the meaning of the descriptions.

A family is a function of layers `f` (layers_torch.py, layers_jax.py), the parameters
of the description and the inputs. It reads the weights by the names that hova gives
them, and returns the outputs in the order of the description.
"""

from . import bert, encoder, linear_attention, swin, translation, vit

FAMILIES = {
    "vit_b16": vit,
    "vit_b32": vit,
    "swin_t": swin,
    "bert_base": bert,
    "minilm_l6": bert,
    "vanilla_hv": translation,
    "encoder": encoder,
    "token_performer": linear_attention,
    "causal_performer": linear_attention,
}
