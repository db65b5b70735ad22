"""Policies of your own, to start from: a victim policy, a placement, and both beside SepBIT.

    python examples/own-policy/policy.py corpus/sqlite-ext4.tct
"""

import sys

import numpy as np
import thermocline as tc


class CostBenefit(tc.Victim):
    """The block of greatest age · (1 − u) / 2u, found by the index: no cleaning looks at all blocks."""

    ages = "created"

    def ratio(self, valid, pages):
        return valid, pages - valid


class Wary(tc.Victim):
    """The block of least valid pages among those erased least: looks at all blocks at each cleaning."""

    def score(self, blocks, now):
        worn = blocks.erases > np.median(blocks.erases) + 10
        return blocks.valid + np.where(worn, blocks.pages / 4, 0)


class Regions(tc.Placement):
    """Dynamic data clustering: a page rises a region when it is updated, and sinks one when it is cleaned."""

    streams = 4

    def begin(self, device):
        self.region = np.full(device.logical_pages, -1, np.int8)

    def host(self, pages, now):
        return np.minimum(self.region[pages] + 1, self.streams - 1)

    def written(self, pages, streams, times):
        self.region[pages] = streams

    def survivors(self, pages, victim):
        self.region[pages] = np.maximum(self.region[pages] - 1, 0)
        return self.region[pages]

    def filled(self, pages, now):
        self.region[pages] = 0

    def trimmed(self, pages):
        self.region[pages] = -1

    def spilt(self, page, stream, now):
        self.region[page] = stream


if __name__ == "__main__":
    both = tc.Policy("mine", victim=CostBenefit(), placement=Regions())
    compared = tc.compare(sys.argv[1], ["greedy", "dac", "sep-bit", Wary(), both], over_provisioning="7%", ops="-trim")
    for result in compared.results:
        print(f"{result.policy:10} {result.write_amplification:.3f}")
