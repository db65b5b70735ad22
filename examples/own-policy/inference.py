"""A placement that was learnt offline: a network foretells how long a page lives, and pages of like lives share a stream.

It learns from the first 60 % of a trace, by NumPy, and places the pages of a run by NumPy, Numba or ONNX Runtime, many
pages a call. Run as `python inference.py [trace]`; `pip install numba onnx onnxruntime` for the last two.
"""

import resource
import sys
from pathlib import Path

import numpy as np

import thermocline as tc

TRACE = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2] / "corpus/sqlite-ext4.tct"
READ = {"ops": "-trim"}
DEVICE = {**READ, "over_provisioning": "7%", "clock": "device", "victim": "cost-benefit", "progress": False}
STREAMS, SHORTEST, HIDDEN = 8, 10, 16
"""Streams of pages that live up to 2^10 page writes, up to 2^11, and so on."""


def inputs(features):
    """Numbers of page writes by their octaves. The size of a request is not known to a placement."""
    return np.log2(1 + features[:, :8].astype(np.float32)) / 16


def learnt(features, lives, rounds=4000, seed=1):
    """Weights of a network with one hidden layer, by Adam, that foretells the binary logarithm of a life."""
    random = np.random.default_rng(seed)
    shapes = [(8, HIDDEN), (HIDDEN,), (HIDDEN, 1), (1,)]
    weights = [random.standard_normal(shape).astype(np.float32) * (0.5 if len(shape) > 1 else 0) for shape in shapes]
    mean, square = ([np.zeros(shape, np.float32) for shape in shapes] for _ in range(2))
    wanted = np.log2(lives.astype(np.float32))[:, None]
    weights[3] += wanted.mean()
    for step in range(1, rounds + 1):
        at = random.integers(0, len(lives), 512)
        x = inputs(features[at])
        hidden = np.maximum(x @ weights[0] + weights[1], 0)
        # Of the distance in octaves, not of its square: few lives are very long.
        slope = np.sign(hidden @ weights[2] + weights[3] - wanted[at]) / 512
        back = slope @ weights[2].T * (hidden > 0)
        for n, gradient in enumerate([x.T @ back, back.sum(0), hidden.T @ slope, slope.sum(0)]):
            mean[n] = 0.9 * mean[n] + 0.1 * gradient
            square[n] = 0.999 * square[n] + 0.001 * gradient**2
            weights[n] -= 0.01 * mean[n] / (1 - 0.9**step) / (np.sqrt(square[n] / (1 - 0.999**step)) + 1e-8)
    return weights


def streams(octaves):
    """Streams by what was foretold."""
    return np.clip(octaves - SHORTEST + 1, 0, STREAMS - 1).astype(np.uint8)


def by_numpy(weights):
    def predict(features, ages):
        hidden = np.maximum(inputs(features) @ weights[0] + weights[1], 0)
        return streams((hidden @ weights[2] + weights[3])[:, 0])

    return predict


def by_numba(weights):
    import numba

    first, bias, second, last = weights

    @numba.njit(cache=False)
    def foretold(x):
        octaves = np.empty(len(x), np.float32)
        for page in range(len(x)):
            octave = last[0]
            for unit in range(len(bias)):
                value = bias[unit]
                for n in range(x.shape[1]):
                    value += x[page, n] * first[n, unit]
                octave += max(value, np.float32(0)) * second[unit, 0]
            octaves[page] = octave
        return octaves

    return lambda features, ages: streams(foretold(inputs(features)))


def by_onnx(weights):
    import onnx
    import onnxruntime

    kind = onnx.TensorProto.FLOAT
    nodes = [
        onnx.helper.make_node("Gemm", ["x", "w0", "w1"], ["a"]),
        onnx.helper.make_node("Relu", ["a"], ["b"]),
        onnx.helper.make_node("Gemm", ["b", "w2", "w3"], ["y"]),
    ]
    given = [onnx.numpy_helper.from_array(one, f"w{n}") for n, one in enumerate(weights)]
    tensor = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(nodes, "lives", [tensor("x", kind, [None, 8])], [tensor("y", kind, [None, 1])], given)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda features, ages: streams(session.run(None, {"x": inputs(features)})[0][:, 0])


def seconds():
    """Of this process, on all its cores."""
    return sum(resource.getrusage(resource.RUSAGE_SELF)[:2])


def main():
    lives = tc.lives(TRACE, **READ)
    training = lives.split(0.6)[0].to_arrow()
    features = np.nan_to_num(np.stack([training[name].to_numpy() for name in lives.features], 1)).astype(np.uint32)
    weights = learnt(features, training["life"].to_numpy())
    compared = tc.compare(TRACE, ["sep-bit", "greedy"], **{**DEVICE, "victim": None})
    for result in compared.results:
        print(f"{result.policy:24} {result.write_amplification:.3f}")
    plain = tc.run(TRACE, placement="one-stream", **DEVICE)
    print(f"{'cost-benefit alone':24} {plain.write_amplification:.3f}")
    for name, made in (("NumPy", by_numpy), ("Numba", by_numba), ("ONNX Runtime", by_onnx)):
        try:
            predict = made(weights)
        except ImportError as missing:
            print(f"{name:24} {missing}")
            continue
        calls = []

        def counted(features, ages):
            begun = seconds()
            placed = predict(features, ages)
            calls.append((len(features), seconds() - begun))
            return placed

        predict(features[:512], None)
        result = tc.run(TRACE, placement=tc.Learned(counted, streams=STREAMS, name=name.split()[0]), **DEVICE)
        pages, spent = map(sum, zip(*calls, strict=True))
        print(f"{name:24} {result.write_amplification:.3f}  {spent / pages * 1e6:.2f} us of CPU a page, {pages:,} pages in {len(calls):,} calls")


if __name__ == "__main__":
    main()
