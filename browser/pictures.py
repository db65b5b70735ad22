"""Takes the pictures of the documentation: what a reader sees of real reports."""

import os
import subprocess
import sys
import tempfile

from chromium import Chromium

THERMOCLINE = os.environ["THERMOCLINE"]
SQLITE = ["--trace", "corpus/sqlite-ext4.tct", "--ops=-trim", "--clock", "device"]
POLICIES = "thermocline,greedy,cost-benefit,cat,dac,update-interval,sep-bit,midas,fifo"


def main():
    folder = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="thermocline-pictures.") as work, Chromium() as browser:
        def picture(name, arguments, dark=False, width=1120):
            file = os.path.join(work, f"{name}.html")
            subprocess.run([THERMOCLINE, *arguments, "--report", file], check=True, stdout=subprocess.DEVNULL)
            browser.look(width, dark=dark)
            browser.open(f"file://{file}")
            # Down to the end of the first charts.
            bottom = browser.evaluate("document.querySelector('figure details').getBoundingClientRect().bottom")
            browser.screenshot(os.path.join(folder, f"{name}.png"), bottom + 20)

        picture("comparison", ["compare", *SQLITE, "--over-provisioning", "7%", "--policies", POLICIES])
        sweep = ["sweep", *SQLITE, "--policy", "greedy,cat,sep-bit", "--store", os.path.join(work, "store")]
        picture("search", [*sweep, "--over-provisioning", "5%..60%", "--until", "write_amplification<=1.5"], dark=True)


main()
