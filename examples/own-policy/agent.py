"""An agent that learns to place pages, by the cross-entropy method: 56 numbers, a score a stream, no library but NumPy.

It trains on short runs of one workload and is tested on longer ones with other seeds, beside policies that know nothing
of the workload either. Run as `python agent.py [generations]`.
"""

import sys

import numpy as np

import thermocline as tc
from thermocline.gym import DeviceVectorEnv

STREAMS = 4
MEMBERS = 32
DEVICE = {"workload": "hot-cold:90/10", "capacity": "32MiB", "over_provisioning": "10%", "progress": False}
TRAINING, TEST = {**DEVICE, "bytes": "32MiB"}, {**DEVICE, "bytes": "128MiB"}


def play(env, weights, seed):
    """An episode on each device, a member a device, all with one seed. Returns write amplification."""
    observations, _ = env.reset(seed=[seed] * env.num_envs)
    results = [None] * env.num_envs
    while any(result is None for result in results):
        known = np.concatenate([observations, np.ones((env.num_envs, 1), np.float32)], 1)
        streams = np.einsum("nsf,nf->ns", weights, known).argmax(1)
        observations, _, _, ended, infos = env.step(streams)
        for at in np.flatnonzero(ended):
            results[at] = results[at] or infos["result"][at].write_amplification
    return np.array(results)


def train(generations, seed=1):
    """The weights in the middle of the last generation."""
    random = np.random.default_rng(seed)
    env = DeviceVectorEnv(num_envs=MEMBERS, decide="placement", streams=STREAMS, victim="cost-benefit", **TRAINING)
    shape = (STREAMS, env.single_observation_space.shape[0] + 1)
    middle, spread = np.zeros(shape), np.full(shape, 2.0)
    for generation in range(generations):
        members = middle + spread * random.standard_normal((MEMBERS, *shape))
        figures = play(env, members, seed=100 + generation)
        best = members[figures.argsort()[: MEMBERS // 4]]
        middle, spread = best.mean(0), best.std(0) + 0.1
        print(f"generation {generation}: {np.sort(figures)[: MEMBERS // 4].mean():.3f}", flush=True)
    return middle


if __name__ == "__main__":
    weights = train(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
    env = DeviceVectorEnv(num_envs=1, decide="placement", streams=STREAMS, victim="cost-benefit", **TEST)
    seeds = range(3)
    figures = {"agent": [play(env, weights[None], seed)[0] for seed in seeds]}
    for policy in ("greedy", "sep-gc", "sep-bit", "thermocline", "oracle"):
        figures[policy] = [tc.run(policy=policy, seed=seed, **TEST).write_amplification for seed in seeds]
    for policy, each in figures.items():
        print(f"{policy:12} {np.mean(each):.3f}  ({', '.join(f'{one:.3f}' for one in each)})")
