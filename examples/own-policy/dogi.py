"""DOGI's network by hand: two hidden layers that foretell how long a page will live, trained with NumPy and asked in batches.

It learns from the first part of a trace, and places the pages of the rest, beside policies that know nothing of the trace.
The preset `dogi` trains by itself while it runs, and forms groups of the categories. Run as `python dogi.py TRACE`.
"""

import sys

import numpy as np

import thermocline as tc

HIDDEN, CATEGORIES, BATCH, EPOCHS, MOST = 32, 10, 128, 15, 400_000
DEVICE = {"over_provisioning": "7%", "clock": "device", "progress": False}


class Network:
    """Features in, categories of lives out: below 1, 2, 4, … 256 % of the pages, or longer."""

    def __init__(self, features, lives, pages, seed=1):
        self.limits = pages / 100 * 2.0 ** np.arange(CATEGORIES - 1)
        inputs = np.log2(1.0 + features)
        self.mean, self.deviation = inputs.mean(0), inputs.std(0) + 1e-6
        self.random = np.random.default_rng(seed)
        sizes = [inputs.shape[1], HIDDEN, HIDDEN, CATEGORIES]
        self.weights = [self.random.uniform(-1, 1, (a + 1, b)) / a**0.5 for a, b in zip(sizes, sizes[1:], strict=False)]
        self.train((inputs - self.mean) / self.deviation, np.digitize(lives, self.limits))

    def train(self, inputs, right):
        """Adam on the cross entropy, with dropout."""
        moments, step = [np.zeros((2, *w.shape)) for w in self.weights], 0
        for _ in range(EPOCHS):
            for batch in np.array_split(self.random.permutation(len(inputs)), -(-len(inputs) // BATCH)):
                step += 1
                layers = self.layers(inputs[batch], dropout=0.4)
                slope = np.exp(layers[-1] - layers[-1].max(1, keepdims=True))
                slope /= slope.sum(1, keepdims=True)
                slope[np.arange(len(batch)), right[batch]] -= 1
                for layer in (2, 1, 0):
                    own = with_one(layers[layer]).T @ slope / len(batch) + 1e-5 * self.weights[layer]
                    slope = slope @ self.weights[layer][:-1].T * (layers[layer] > 0) / 0.6
                    moments[layer] *= [[[0.9]], [[0.999]]]
                    moments[layer] += [0.1 * own, 0.001 * own**2]
                    first, second = moments[layer][0] / (1 - 0.9**step), moments[layer][1] / (1 - 0.999**step)
                    self.weights[layer] -= 3e-4 * first / (second**0.5 + 1e-8)

    def layers(self, values, dropout=0.0):
        """The values of the inputs, of the hidden layers, and of the categories."""
        layers = [values]
        for at, weights in enumerate(self.weights):
            values = with_one(values) @ weights
            if at < 2:
                kept = self.random.random(values.shape) >= dropout if dropout else 1
                values = np.maximum(values, 0) * kept / (1 - dropout)
            layers.append(values)
        return layers

    def __call__(self, features, ages):
        """The streams of pages: the category foretold, for survivors at least that of their age."""
        inputs = (np.log2(1.0 + features) - self.mean) / self.deviation
        return np.maximum(self.layers(inputs)[-1].argmax(1), np.digitize(ages, self.limits))


def with_one(values):
    return np.concatenate([values, np.ones((len(values), 1))], 1)


def halves(trace, share=0.4, **settings):
    """A network that was trained on the first part of a trace, and the requests of the rest."""
    lives = tc.lives(trace, **settings)
    ended = lives.split(share)[0].to_numpy()
    requests = tc.trace.read(trace, **settings).to_numpy()
    features = np.stack([ended[name] for name in lives.features], 1)
    features[:, -1] = 0  # a placement does not know the size of requests
    taken = np.random.default_rng(1).permutation(len(features))[:MOST]
    pages = len(np.unique(ended["page"]))
    later = requests["time"] > ended["end_time"].max()
    names = ("time", "op", "offset", "length")
    return Network(features[taken], ended["life"][taken], pages), {name: requests[name][later] for name in names}


if __name__ == "__main__":
    network, rest = halves(sys.argv[1] if len(sys.argv) > 1 else "corpus/sqlite-ext4.tct", ops="-trim")
    learned = tc.Learned(network, streams=CATEGORIES, survivors=True)
    print(f"{'network':12} {tc.run(rest, placement=learned, victim='cost-benefit', **DEVICE).write_amplification:.3f}")
    for policy in ("greedy", "sep-bit", "dogi", "thermocline", "oracle"):
        print(f"{policy:12} {tc.run(rest, policy, **DEVICE).write_amplification:.3f}")
