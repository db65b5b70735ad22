//! Examples below the help of each command.

use thermocline_media::MEDIA;

pub const TOP: &str = "\
Examples:
  thermocline run --workload hot-cold:90/10     one policy, the default
  thermocline compare --trace disk.blkparse.gz  all policies on a recorded trace
  thermocline sweep grid.toml                   many settings, one table
  thermocline tune --trace disk.blkparse.gz     the best policy and parameters
  thermocline trace info disk.blkparse.gz       what is in that trace
  thermocline policies cat                      what a policy does
  thermocline format disk.img --capacity 1GiB   a flash chip in a file ...
  thermocline serve disk.img --unix disk.sock   ... that is a block device

Sizes are powers of 1024 (4k, 4KiB, 192MiB), shares 15% or 0.15, times 84min.
Exit: 0 done, 1 the run failed, 2 usage, 3 bad input, 4 a bug, 130 or 143
interrupted by Ctrl-C or SIGTERM.";

pub const RUN: &str = "\
Examples:
  The CAT paper's experiment, Table 4: a 24 MB card, 90% full, 90% of the writes
  to 10% of the data
    thermocline run --device intel-series2plus-24m --fill 90% \\
      --workload hot-cold:90/10 --bytes 192MiB --policy cat
  A recorded trace on a device 7% larger than its footprint, three times over
    thermocline run --trace disk.csv.zst --over-provisioning 7% --loop 3 \\
      --policy greedy
  One axis of a policy changed, another given parameters
    thermocline run --workload zipf:0.99 --policy 'cat(tau=84min)' \\
      --placement age-sort
  Behind 4 MiB of RAM in which writes of a page coalesce
    thermocline run --workload zipf:0.99 --write-buffer 4MiB
  A drive with a fixed SLC cache and parity over its dies
    thermocline run --device nvme-tlc-client --superblocks parity \\
      --slc-cache fixed:5% --workload hot-cold:90/10
  From a pipe, only writes, result as JSON
    blkparse -i sda | thermocline run --trace - --ops write,trim --json

With a trace the device is as large as the pages the trace touches plus
--over-provisioning, unless --capacity, --fill or --wrap say otherwise; it is
filled once in sequence before the statistics begin. A workload runs on the
whole device and writes 4 times the filled data unless --bytes says otherwise;
the result names the bytes.";

pub const COMPARE: &str = "\
Examples:
  All presets on two traces, a table each
    thermocline compare --trace web.csv.gz --trace mail.csv.gz
  Some policies, one of them with other parameters
    thermocline compare --workload hot-cold:90/10 \\
      --policies 'greedy,cat,cat(tau=1h)'
  Every victim policy with every placement
    thermocline compare --trace web.csv.gz --victim greedy,cat,lfs \\
      --placement one-stream,M6
  Every policy there is on several traces
    thermocline compare --policies all --trace web.csv.gz --trace mail.csv.gz
  For five seeds, with intervals; chosen for short responses, the best first
    thermocline compare --workload zipf:0.99 --seeds 5 --aim latency \\
      --sort response_us.write.p99
  A trace of many volumes: each is a device; two parts of the work share a store
    thermocline compare --trace fleet.csv.gz --per-volume --policies greedy,sep-bit
    thermocline compare --trace fleet.csv.gz --per-volume --shard 1/2 \\
      --store results --format csv --output 1.csv
  What a placement handle for each volume would bring
    thermocline compare --trace fleet.csv.gz --hint volume --fdp 8
  For a notebook, and for a page
    thermocline compare --trace web.csv.gz --format csv --output runs.csv
    thermocline compare --trace web.csv.gz --markdown

A trace is read once for all policies. Results come input by input (traces,
then workloads), policies in the order given; where there are several inputs, a
table of policies by inputs comes last, best policy first. The best figure of a
column is marked with *, unless another is within 1 % or within the noise of
the seeds. The last sentence is the answer: which policy, by how much, at what
cost.

\"over oracle\" is how much more a policy writes than the oracle, which knows
when each page will be overwritten: the better of the placements `oracle` and
`calendar`, which run once for each input (--no-oracle saves that).

A policy that cannot run on a device does not stop the others: its row is
empty, standard error and `failures` in JSON say why, and the exit code is 0.
It is 1 if no policy could run on one of the inputs, and that of the first
error if none could run on any.";

pub const WATCH: &str = "\
Examples:
  Why DAC copies less than greedy, in a browser on this machine
    thermocline watch --trace web.csv.gz --policies greedy,dac
  The same as one file for a lecture, from the start of the trace
    thermocline watch --trace web.csv.gz --policies greedy,dac --from 0% --output gc.html

All policies get the same writes on the same device, and the whole input is
simulated: the figures under \"The whole run\" are those of `thermocline compare
--json`. The page holds an excerpt of it, and loads nothing from elsewhere. It
is shown at an address of this machine, unless --output names a file.";

pub const TUNE: &str = "\
Examples:
  All page-mapped policies with their parameters
    thermocline tune --trace web.tct
  Two policies, chosen for short responses, in 200 simulations
    thermocline tune --trace web.tct --policy dac,sep-bit --aim p99 --budget 200
  How much over-provisioning, where 1 % more flash must be worth 2 % of life
    thermocline tune --trace web.tct --aim lifetime --price 2 \\
      --over-provisioning 7%..28%/3% --block-size 256KiB,1MiB

The search covers policies (--policy), their parameters, --high, and every
option of `run` that has a list of values. First every policy runs with its
defaults. Tree-structured Parzen estimators then propose parameters for the
best third. One --seed gives one search.

Among settings within 1 % of the best, the search chooses the one with the
least RAM. The rest of the trace is replayed on the device as the searched
part leaves it. Believe the figure of the rest: the search also picks what was
best by chance.

Exit: 0 done, 1 nothing could run, 2 usage, 3 bad input, 130 interrupted.";

pub const SWEEP: &str = "\
Examples:
  Three sizes of over-provisioning, two of blocks, two policies, two traces: 24 rows
    thermocline sweep --trace web.tct --trace mail.tct --output sweep.csv \\
      --over-provisioning 7%,15%,28% --block-size 256KiB,1MiB \\
      --policy greedy,sep-bit
  Ranges: 5%, 10% ... 30%; 64KiB, 128KiB ... 1MiB
    thermocline sweep --workload zipf:0.99 --over-provisioning 5%..30%/5% \\
      --block-size '64KiB..1MiB*2' --format jsonl
  How much over-provisioning does a write amplification of 1.5 take?
    thermocline sweep --trace web.tct --policy greedy,sep-bit \\
      --over-provisioning 2%..60% --until 'write_amplification<=1.5'
  From a file, the third of sixteen parts; all share a store
    thermocline sweep grid.toml --shard 3/16 --store /net/sweep --output 3.csv

Every option of `run` takes a list. --trace, --workload, --ops, --columns and
--trace-format are repeated, because their values have commas. Rows come in
the order of the grid: inputs, then axes in the order given, the last one
turning fastest, seeds last.

Ctrl-C, and the same command again goes on: a result is kept under the digest of
its settings, the contents of its trace and this program's version.

A simulation that fails has a row that says why, and does not stop the others.
Exit: 0 done, 1 some failed or a search found nothing, 2 usage, 3 bad input,
130 interrupted.";

pub const REPRODUCE: &str = "\
Examples:
  All claims of the CAT paper, with our results
    thermocline reproduce cat
  All papers, with recorded traces
    thermocline reproduce all --traces ~/traces
  One table, and the command of each of its numbers
    thermocline reproduce cat/table-4
    thermocline reproduce cat/table-4 --commands
  An experiment of your own (papers/README.md describes the format)
    thermocline reproduce my-paper/figure-7.toml

Verdicts: reproduced, the value lies within the tolerance or the order holds;
direction, the value does not, but the order or the sign does; not, neither;
skipped, an input is not there; unreachable, nobody can reproduce it.
\"readings\" is the range under other ways to read the text.

Exit: 0 as good as recorded, 1 a verdict is worse than recorded (verdicts.toml)
or a reference simulation's number is missed, 2 usage, 3 a file of an
experiment is wrong, 130 interrupted.";

pub fn format() -> String {
    const MADE: &str = "\
Examples:
  A gigabyte of the default device (4 KiB pages, 256 KiB blocks), sparse
    thermocline format disk.img --capacity 1GiB
  The papers' NOR card
    thermocline format card.img --device intel-series2plus-24m
  A partition, all of it
    thermocline format device:/dev/sdb1";
    const SIZE: &str = "\
The exported size is the capacity less over-provisioning and the blocks of the
index log.";
    let there = MEDIA.iter().filter(|medium| medium.create.is_none()).map(|medium| {
        let example = medium.example;
        format!(
            "\n  With {}\n    thermocline format {example} --over-provisioning 10%",
            medium.summary
        )
    });
    format!("{MADE}{}\n\n{SIZE}", there.collect::<String>())
}

pub const SERVE: &str = "\
Examples:
  A chip in a file, on a Unix socket
    thermocline serve disk.img --unix disk.sock
    nbdinfo 'nbd+unix:///?socket=disk.sock'
  A chip in memory for one command
    thermocline serve ram: --capacity 256MiB --run 'nbdcopy disk.raw \"$uri\"'
  With another policy, over TCP, with metrics and a recording
    thermocline serve disk.img --policy dac --tcp 127.0.0.1:10809 \\
      --metrics 127.0.0.1:9808 --record week.tct
    thermocline compare --trace week.tct

SIGTERM or Ctrl-C finishes the requests in flight, writes a checkpoint and exits
with 0; a second one ends at once. Neither that nor a crash loses flushed data.
The server also listens on sockets that systemd passes.

Words of --inject: seed=N draws everything; flip=P, a bit is read wrong;
disturb=P, reading a page turns one of its bits until the block is erased;
ecc=N, wrong bits that are corrected in each KiB (8); program=P and erase=P,
these operations fail; fail=N+M, these operations fail, counted from 0; wear=N,
mean erases that a block lives for; spread=SHARE, the standard deviation of
that (0.1); cache=N, operations held back until a sync; cut=N, power fails in
this operation. P is a probability, such as 1e-6.";

pub const CTL: &str = "\
Examples:
  thermocline ctl disk.img stat
  thermocline ctl disk.img policy cat
  thermocline ctl disk.img watermarks --low 16 --high 32
  thermocline ctl disk.img stop && thermocline check disk.img

The server's control socket is found by the image, in a folder that only the
server's user can write to. Only that user and root may ask, and only a server
of root's, of the image's owner or of one's own that holds the image is believed.
`stat`, `check`, `backup` and `export` of an image that is served ask its server
by themselves.";

pub const BACKUP: &str = "\
Examples:
  thermocline backup disk.img monday.img        served or not
  thermocline serve monday.img --unix s         the copy is an image like any other

The copy holds what the block device held at one moment, when the backup
began: everything written until then, and nothing written after. Clients go on;
the first change of a page that was not copied yet waits until its old content
is kept in a file without a name beside the image.";

pub const CHECK: &str = "\
Exit: 0 sound, 1 the system failed, 2 corrupt, 3 leaks only (unused space that
garbage collection will find) or, with a message in place of a report, not an
image.";

pub const DUMP: &str = "\
Examples:
  thermocline dump disk.img map 0 100           places of the first 100 pages
  thermocline dump disk.img block 17            out-of-band areas of its pages
  thermocline dump disk.img device > disk.toml  for `run --device disk.toml`";

pub const TRACE: &str = "\
Examples:
  thermocline trace info *.csv.gz
  thermocline trace convert disk.blkparse.gz disk.tct
  thermocline trace generate zipf:0.99 zipf.csv.zst --bytes 1GiB";

pub const TRACE_INFO: &str = "\
Examples:
  thermocline trace info disk.csv.zst                    the format is guessed
  thermocline trace info --shift -63s --json vm.vscsi    aligned, for scripts
  zcat odd.txt.gz | thermocline trace info - \\
    --columns time=1:ms,op=2,offset=3:512,size=4:512

overwrite: page writes per page written. updates: share of page writes that hit
a page written before. top 10 %: share of page writes that go to the most
written tenth of the written pages.";

pub const TRACE_CONVERT: &str = "\
Examples:
  thermocline trace convert disk.blkparse.gz disk.tct  compact, fast to read
  thermocline trace convert disk.tct w.csv --ops write  only writes, as CSV
  thermocline trace convert disk.tct r.fio --rebase    for fio --read_iolog
  thermocline trace convert disk.tct - --to csv | head  on standard output

OUT appears only once it is complete.";

pub const TRACE_SPLIT: &str = "\
Examples:
  thermocline trace split fleet.csv.gz volumes/
  thermocline trace info volumes/*.tct

The trace is read once, into a temporary file (25 bytes a request, in TMPDIR).";

pub const TRACE_GENERATE: &str = "\
Examples:
  thermocline trace generate hot-cold:90/10 hot.tct --span 1GiB --bytes 8GiB
  thermocline trace generate uniform u.fio --interarrival 2ms --reads 30%
  thermocline trace generate phases:hot-cold:90/10@40MiB,uniform@40MiB \\
    changing.csv.gz
  thermocline trace generate cell-phone phone.tct --span 56MiB

A file workload (s1, cell-phone, ...) makes a FAT32 volume on the whole span,
fills it to 80 %, then runs its script. No trace format keeps the data that the
requests write.";

pub const POLICIES: &str = "\
A preset combines a victim policy (which block is collected next) and a placement
(which open block a page goes to). --victim and --placement replace either.

Examples:
  thermocline policies                 all of them
  thermocline policies cat             one, with parameters and defaults
  thermocline run --workload uniform --policy 'd-choices(d=5)'";

pub const DEVICES: &str = "\
Examples:
  thermocline devices
  thermocline devices slc-generic --json
  thermocline devices slc-generic --toml > my-chip.toml
  thermocline run --device my-chip.toml --workload uniform

docs/devices.md lists the keys of the TOML file.";

pub const WORKLOADS: &str = "\
Examples:
  thermocline run --workload hot-cold:90/10 --bytes 1GiB
  thermocline run --workload zipf:0.99 --interarrival 2ms --reads 30%
  thermocline run --workload phases:hot-cold:90/10@40MiB,uniform@40MiB";

pub const RECORD: &str = "\
Examples:
  sudo thermocline record /dev/sda --for 10m
  sudo thermocline record /var/lib/mysql --for 1h --output /mnt/other/mysql
  thermocline record job.fio --for 5m

It ends with the name of the trace and the next command. blktrace records a
device completely; bpftrace prints each issued request; fio logs its own jobs.";

pub const MEASURED: &str = "\
Examples:
  thermocline measured record /dev/nvme0 --every 10s --for 2h -o run.csv
  thermocline measured import logs/ -o run.csv
  thermocline measured formats

A measurement has a row for each reading: seconds, host_bytes (written by the
host) and physical_bytes (programmed by the drive), since the first one.";

pub const MEASURED_IMPORT: &str = "\
Examples:
  A folder of files, named by their times
    thermocline measured import logs/ -o run.csv
  What a loop appended every 30 seconds, the logs of two tools in turn
    while sleep 30; do nvme smart-log -o json /dev/nvme0
      nvme ocp smart-add-log -o json /dev/nvme0; done >> log.json
    thermocline measured import log.json --every 30s -o run.csv

Counters that wrap are counted on. Where one was reset, the longest stretch is
measured. Both are named, as is a counter that stands still while the host
writes. `thermocline measured formats` lists the printouts and their units.";

pub const MEASURED_RECORD: &str = "\
Examples:
  sudo thermocline measured record /dev/nvme0 --every 10s --for 2h -o run.csv
  sudo thermocline measured record --every 30s -o run.json -- smartctl -j -A /dev/sda
  thermocline measured record -o run.csv -- thermocline ctl disk.img stat --json

An NVMe drive is read by nvme smart-log and nvme ocp smart-add-log, any other by
smartctl. A command may print whatever `thermocline measured import` reads.";

pub const IDENTIFY: &str = "\
Examples:
  Two measurements of a drive of 1.92 TB; options belong to the one before them
    thermocline identify --exports 1920383410176 --preconditioned sequential \\
      --measured uniform.csv --workload uniform \\
      --measured hot.csv --workload zipf:0.8 --output drive.toml
    thermocline run --device drive.toml --scale 1/1024 --workload zipf:0.99
  What a trace did, with a page of curves
    thermocline identify --exports 480GB --measured run.csv --trace web.tct \\
      --report found.html

Candidates are simulated with as many superblocks and fewer pages in each. The
distance is the root mean square of two errors of write amplification: in the
last quarter, and over twenty stretches of the run. Families within a quarter
of the best one's distance, or within 0.4 %, are as good as it. Ctrl-C ends the
search and prints what it has.";

pub const PREDICT: &str = "\
Examples:
  thermocline predict --device drive.toml --fit-error 3% web.tct
  thermocline predict --device micron-7450-800g --workload zipf:0.99 \\
    --daily-writes 500GB --warranty-dwpd 3

Large drives are simulated smaller (--scale, --sample), and traces are repeated
until write amplification has settled. The interval is the fit's own error;
what endurance a vendor's flash has is the profile's figure.";

pub const KEYS: &str = "\
Examples:
  thermocline keys
  thermocline keys p99
  thermocline keys lifetime --json";

pub const DIFF: &str = "\
Runs are paired by trace, policy and seed; the only run of each file with the
only run of the other.

Examples:
  thermocline compare t.csv --json --output a.json
  thermocline compare t.csv --over-provisioning 7% --json --output b.json
  thermocline diff a.json b.json";

pub const COMPLETIONS: &str = "\
Examples:
  thermocline completions bash \\
    > ~/.local/share/bash-completion/completions/thermocline
  thermocline completions zsh > ~/.zfunc/_thermocline
  thermocline completions fish > ~/.config/fish/completions/thermocline.fish";
