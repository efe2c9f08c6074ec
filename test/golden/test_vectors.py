#===- test_vectors.py - The committed golden vectors are current ----------===#
#
# SPDX-License-Identifier: Apache-2.0
#
# The vectors are what generate.py writes, and the oracle has the properties
# that the papers' equations imply.
#
#===-----------------------------------------------------------------------===#

import numpy as np

import generate
import oracle
import scores
from net import Draw, Net, wide


def values(name, *shape):
    return wide(Draw(name).values(*shape))


def heads(name):
    return [values(name + part, 2, 3, 5, 4) for part in "qkv"]


def test_committed_vectors_are_regenerated():
    assert generate.check() == []


def test_a_changed_vector_is_noticed(tmp_path):
    case = next(generate.all_cases())
    case.write(tmp_path)
    file = next((tmp_path / case.name / "outputs").iterdir())
    file.write_bytes(file.read_bytes()[:-8] + b"\0" * 8)
    assert f"{case.name}/outputs/{file.name} has other values" in generate.check(
        tmp_path
    )


def test_scores_may_be_shifted_by_row():
    q, k, v = heads("shift")
    plain = oracle.attention(q, k, v)
    shift = values("shift rows", 2, 3, 5, 1)
    np.testing.assert_allclose(
        oracle.attention(q, k, v, score_bias=shift), plain, rtol=1e-12, atol=1e-14
    )


def test_keys_and_values_may_be_permuted_together():
    q, k, v = heads("permute")
    order = [3, 0, 4, 1, 2]
    np.testing.assert_allclose(
        oracle.attention(q, k[:, :, order], v[:, :, order]),
        oracle.attention(q, k, v),
        rtol=1e-12, atol=1e-14,
    )


def test_causal_rows_do_not_see_the_future():
    q, k, v = heads("future")
    before = oracle.attention(q, k, v, causal=True)
    k[:, :, 3:], v[:, :, 3:] = 7.0, -7.0
    after = oracle.attention(q, k, v, causal=True)
    np.testing.assert_array_equal(before[:, :, :3], after[:, :, :3])


def test_prefill_and_decode_equal_the_full_run():
    q, k, v = heads("decode")
    full = oracle.attention(q, k, v, causal=True)
    last = oracle.attention(q[:, :, 3:], k, v, causal=True)
    np.testing.assert_allclose(last, full[:, :, 3:], rtol=1e-12)


def test_masked_rows_are_zero_or_uniform():
    q, k, v = heads("masked")
    none = np.zeros((5, 5), dtype=bool)
    assert not oracle.attention(q, k, v, mask=none).any()
    np.testing.assert_allclose(
        oracle.attention(q, k, v, mask=none, empty_row="uniform"),
        np.broadcast_to(v.mean(axis=2, keepdims=True), v.shape),
    )


def written(text, **names):
    """What an expression makes of scores [1, 2, 3, 4]."""
    score = values("own", 1, 2, 3, 4)
    table = np.arange(6)
    given = scores.WrittenScores(score=text, names=names, read={"table": table}.__getitem__)
    return score, given.of(Net("own"), score)[0]


def test_written_scores_follow_the_description():
    m, i, j = (np.arange(n).reshape(shape) for n, shape in (
        (2, (2, 1, 1)), (3, (3, 1)), (4, (4,))))
    for text, wanted in {
        "(query - key) // 2": lambda s: (i - j) // 2,
        "(key - query) % -3": lambda s: (j - i) % -3,
        "(query - key) / 2": lambda s: (i - j) / 2,
        "-2**2 + head": lambda s: m - 4,
        "table[query - key + keys - 1]": lambda s: i - j + 3,
        "if(wide, table[99], score) * heads": lambda s: 2 * s,
        "if(key < 2 and not key == query, 7/2, score ** 3)": lambda s: np.where(
            (j < 2) & (j != i), 3.5, s**3),
        "min(score, 0.5, key) - max(head, 1)": lambda s: np.minimum(
            np.minimum(s, 0.5), j) - 1,
        "floor(score) + log2(8) + queries": lambda s: np.floor(s) + 6,
        "sigmoid(score) + exp(-abs(score))": lambda s: (
            1 / (1 + np.exp(-s)) + np.exp(-np.abs(s))),
    }.items():
        score, given = written(text, wide=False, head=5)
        np.testing.assert_allclose(
            given, np.broadcast_to(wanted(score), score.shape), rtol=1e-14, err_msg=text)


def test_shared_heads_are_heads_that_are_equal():
    q, k, v = heads("shared")
    few = oracle.share_heads(k[:, :1], 3), oracle.share_heads(v[:, :1], 3)
    one = [oracle.attention(q[:, m : m + 1], k[:, :1], v[:, :1]) for m in range(3)]
    np.testing.assert_allclose(oracle.attention(q, *few), np.concatenate(one, axis=1), rtol=1e-12)


def test_random_features_approach_the_softmax():
    q, k, v = (0.5 * x for x in heads("performer"))
    exact = oracle.attention(q, k, v)
    errors = []
    for count in (16, 256, 4096):
        w = values(f"features {count}", count, 4)
        near = oracle.performer(q, k, v, w, eps=0.0)
        errors.append(np.abs(near - exact).mean())
    # About one over the root of their number.
    assert errors[1] < errors[0] / 2 and errors[2] < errors[1] / 2


def test_a_causal_performer_is_a_masked_quadratic_form():
    q, k, v = heads("causal performer")
    w = values("causal features", 6, 4)
    for kernel in oracle.PERFORMER:
        # Without eps the maximum has no part, so one matrix of features serves all rows.
        given = oracle.performer(q, k, v, w, kernel, causal=True, eps=0.0, stabilizer=0.0,
                                 denominator_eps=0.0)
        scale = 0.5 if kernel == "softmax" else 1.0
        for b, m in np.ndindex(q.shape[:2]):
            of_q, of_k = (
                oracle.features(x[b, m] * scale**0.5, w, kernel, 0.0) for x in (q, k)
            )
            scores = np.tril(of_q @ of_k.T)
            total = scores.sum(axis=1, keepdims=True)
            wanted = np.divide(scores @ v[b, m], total, where=total > 0,
                               out=np.zeros(v[b, m].shape))
            np.testing.assert_allclose(given[b, m], wanted, rtol=1e-10)


def test_rectified_features_are_normalised_linear_attention():
    q, k, v = heads("rectified")
    of_q, of_k = np.maximum(q, 0) + 1e-3, np.maximum(k, 0) + 1e-3
    scores = np.einsum("bmid,bmjd->bmij", of_q, of_k)
    weights = scores / scores.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(
        oracle.performer(q, k, v, None, "relu"), oracle.mix(weights, v), rtol=1e-12, atol=1e-14
    )


def test_causal_performers_do_not_see_the_future():
    q, k, v = heads("performer future")
    w = values("future features", 6, 4)
    for kernel in oracle.PERFORMER:
        before = oracle.performer(q, k, v, w, kernel, causal=True)
        later_k, later_v = k.copy(), v.copy()
        later_k[:, :, 3:], later_v[:, :, 3:] = 7.0, -7.0
        after = oracle.performer(q, later_k, later_v, w, kernel, causal=True)
        np.testing.assert_array_equal(before[:, :, :3], after[:, :, :3])


def sparse(q, k, v, seen, size, **masks):
    counts = oracle.keys_seen(seen, size, q.shape[2])
    return oracle.attention(q, k, v, counts=counts, **masks)


def test_a_table_of_all_blocks_is_attention():
    q, k, v = (values(f"blocks {name}", 2, 3, 23, 4) for name in "qkv")
    blocks = 6
    free = [[j for j in range(blocks) if not {j} & {0, i - 1, i, i + 1, blocks - 1}]
            for i in range(1, blocks - 1)]
    table = np.array([[row + [-1] * (3 - len(row)) for row in free]] * 3)
    seen = oracle.blocks_seen(blocks, table)
    assert (seen == 1).all()
    for causal in (False, True):
        np.testing.assert_allclose(
            sparse(q, k, v, seen, 4, causal=causal), oracle.attention(q, k, v, causal=causal),
            rtol=1e-12, atol=1e-14,
        )


def test_blocks_that_are_seen_are_those_of_the_paper():
    table = np.full((1, 6, 2), -1)
    table[0, 2] = 5, 1  # of query block 3
    seen = oracle.blocks_seen(8, table)[0]
    assert [np.flatnonzero(row).tolist() for row in seen] == [
        list(range(8)), [0, 1, 2, 7], [0, 1, 2, 3, 7], [0, 1, 2, 3, 4, 5, 7], [0, 3, 4, 5, 7],
        [0, 4, 5, 6, 7], [0, 5, 6, 7], list(range(8)),
    ]
    assert seen.max() == 1
    table[0, 2] = 0, 0
    assert oracle.blocks_seen(8, table)[0, 3].tolist() == [3, 0, 1, 1, 1, 0, 0, 1]


def test_one_head_is_not_reweighted():
    h, x = values("h", 2, 1, 5, 4), values("x", 2, 5, 6)
    weights = values("a1", 4, 4), values("a2", 6, 4), values("b", 4), 0.5
    np.testing.assert_array_equal(oracle.head_reweight(h, x, *weights), h)


def test_the_score_bias_of_horizontal_attention_has_no_effect():
    h, x = values("h", 2, 3, 5, 4), values("x", 2, 5, 6)
    weights = values("a1", 4, 4), values("a2", 6, 4), values("b", 4)
    np.testing.assert_allclose(
        oracle.head_reweight(h, x, *weights, 3.0),
        oracle.head_reweight(h, x, *weights, 0.0),
        rtol=1e-12,
    )


def test_the_gate_shrinks_every_channel():
    y, x = values("y", 2, 5, 6), values("x", 2, 5, 6)
    gated = oracle.channel_gate(
        y, x, values("u1", 6, 2), values("u2", 6, 2), values("u", 2, 6), 0.0
    )
    assert (np.abs(gated) < np.abs(y)).all()


def test_index_sort_is_token_major():
    layers = [np.arange(4.0).reshape(1, 4, 1) + 1 + 4 * i for i in range(3)]
    assert oracle.index_sort(layers).ravel().tolist() == [
        1, 5, 9, 2, 6, 10, 3, 7, 11, 4, 8, 12,
    ]


def test_sinusoids_rotate_with_position():
    table = oracle.sinusoid(9, 8)
    rate = 10000.0 ** (-2 * 2 / 8)
    turn = np.array([
        [np.cos(3 * rate), np.sin(3 * rate)],
        [-np.sin(3 * rate), np.cos(3 * rate)],
    ])
    np.testing.assert_allclose(
        table[3:, 4:6], table[:-3, 4:6] @ turn.T, atol=1e-6
    )
