"""What a user's checker sees: python/test.sh checks this file, and nothing runs it. A line that must be wrong says so."""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

import numpy as np

import thermocline as tc

result = tc.run("a.tct", "dac", over_provisioning="7%", seed=np.int64(3), check=True, trigger="lazy")
amplification: float | None = result.write_amplification
compared: tc.Comparison = tc.compare(["a.tct", "b.tct"], ["greedy", tc.Policy("mine", placement="sep-bit")], capacity=1 << 30)
best: str | None = compared.best
tc.run("a.tct", placement=tc.Learned(lambda features, ages: features[:, 0] > 9, streams=2), device="emmc-5.1")
tc.run("a.tct", over_provisionin="7%")  # pyright: ignore[reportCallIssue]
tc.run("a.tct", trigger="lasy")  # pyright: ignore[reportArgumentType]
swept: tc.Sweep = tc.sweep({"policy": ["greedy", "cat"]}, store="results")
found: dict[str, str | None] = tc.sweep({"over_provisioning": "5%..40%"}, until="write_amplification<=2").found
training, test = tc.lives("a.tct").split(0.6)
octaves: float = tc.predictability("a.tct", ["interval_1"]).best.octaves
requests: tc.Rows = tc.trace.read("a.tct", volume="sda")
