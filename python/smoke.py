"""A look at an installed wheel: what a run, a table, a trace and a policy of one's own need is there."""

import importlib.metadata

import numpy as np

import thermocline as tc


class Lightest(tc.Victim):
    def score(self, blocks, now):
        return blocks.valid


device = {"workload": "hot-cold:90/10", "capacity": "16MiB", "bytes": "16MiB", "progress": False}
result = tc.run(policy="greedy", **device)
assert result.write_amplification and result.digest == tc.run(policy="greedy", **device).digest
compared = tc.compare(policies=["sep-bit", Lightest()], no_oracle=True, **device)
assert compared.to_arrow().num_rows == 2
made = tc.trace.generate("zipf:0.9", span="8MiB", bytes="16MiB")
assert (tc.trace.read(made).to_numpy()["offset"] == made["offset"]).all()
assert tc.lives(made).to_arrow().num_rows == len(made["offset"])
assert tc.run(made, placement=tc.Learned(lambda features, ages: features[:, 0] > 99, streams=2), progress=False)
assert np.all(np.isfinite(tc.predictability(made).best.octaves))
print("thermocline", importlib.metadata.version("thermocline"), result.digest)
