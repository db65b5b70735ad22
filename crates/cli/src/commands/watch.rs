//! `thermocline watch`: policies side by side on the same writes, as a page.

use std::{net::TcpListener, sync::Arc, thread, time::Duration};

use thermocline_assembly::{
    PolicySpec,
    policy::{OwnPolicies, split_list},
};
use thermocline_live::{
    http::{self, Answer, Request, Site},
    page::{self, Page},
    recorder::{Excerpt, Recorder},
};
use thermocline_policy::victim::Onlooker;
use thermocline_report::names;
use thermocline_sim::{Job, Look, Outcome, Watch, compare_each};
use thermocline_study::{
    Listener as _, Remark,
    jobs::{self, Ready},
    notes,
};

use crate::{
    args::{output::ResultFormat, watch::WatchArgs},
    console::Console,
    exit::Failure,
    interrupt,
    output::Output,
};

/// Policies that find room beside one another.
const MOST: usize = 4;
/// Bytes of changes that a page holds of each policy, before they are compressed.
const BYTES: usize = 24 << 20;
/// Browsers that may load the page at a time.
const READERS: usize = 16;

/// Runs the policies, records an excerpt, and shows it or saves it.
pub fn run(args: &WatchArgs, console: Console) -> Result<(), Failure> {
    let simulation = &args.simulation;
    if args.output.form() != ResultFormat::Table {
        return Err(Failure::usage(
            "`watch` makes a page; `thermocline compare` has the results in other forms",
        ));
    }
    let policies = policies(args)?;
    let recorded = jobs::recorded_on(args.input.trace.as_deref(), simulation, console.context());
    let device = jobs::simulated(simulation, recorded)?;
    // What cannot be used shows now, not after the work.
    let path = args.output.output.as_deref();
    let output = path.map(|path| Output::open(Some(path))).transpose()?;
    let listener = match &output {
        Some(_) => None,
        None => Some(TcpListener::bind(&args.listen).map_err(|e| {
            Failure::failed(format!("--listen {}: {e}; take another port", args.listen))
        })?),
    };
    let traces = args.input.trace.as_deref();
    let inputs = jobs::ready(
        traces,
        &args.input.workload,
        &policies,
        &device,
        simulation,
        console.context(),
    )?;
    notes::of_volumes(&inputs).iter().for_each(|warning| console.say(Remark::Warning, warning));
    let Some(input) = inputs.first() else { unreachable!("`watch` has one input") };
    let job = |policy| jobs::job(input, policy, &device, simulation);
    let recorders: Vec<_> = policies.iter().map(|policy| recorder(&job(policy), args)).collect();
    let watched = policies.iter().zip(&recorders);
    let all: Vec<_> = watched.map(|(p, watch)| Job { watch: Some(watch), ..job(p) }).collect();
    let known = all.iter().map(jobs::known_pages).sum();
    let bar = console.context().runs(format!("{} runs", all.len()), known);
    let outcomes = compare_each(&all, false, simulation.threads, interrupt::progress());
    drop((bar, all));
    let page = page(input, &policies, recorders, outcomes?, args)?;
    match (output, listener) {
        (Some(output), _) => output.put(page.html.as_bytes()),
        (None, Some(listener)) => show(page, listener, args),
        (None, None) => unreachable!("the page is saved or shown"),
    }
}

fn policies(args: &WatchArgs) -> Result<Vec<PolicySpec>, Failure> {
    let names: Vec<_> = args.policies.iter().flat_map(|list| split_list(list)).collect();
    if names.is_empty() || names.len() > MOST {
        return Err(Failure::usage(format!("--policies takes one to {MOST} of them here")));
    }
    let cleaning = &args.simulation.cleaning;
    let policy = |name: &String| {
        Ok(jobs::policy(Some(name), None, None, name, cleaning, &OwnPolicies::default())?)
    };
    names.iter().map(policy).collect()
}

/// The recorder of a job.
fn recorder(job: &Job<'_>, args: &WatchArgs) -> Watched {
    let total = jobs::known_pages(job);
    let block = job.device.profile.geometry.data_pages_per_block();
    let pages = u64::from(args.blocks) * u64::from(block);
    Watched(Recorder::new(Excerpt::at(args.from, pages, total, BYTES)))
}

/// A recorder as the simulator knows it.
#[derive(Debug)]
struct Watched(Recorder);

impl Watch for Watched {
    fn stride(&self, pages: u64) -> usize {
        self.0.stride(pages)
    }

    fn look(&self, now: &Look<'_>) {
        self.0.look(now.inspect, now.geometry, &now.counters, now.write_response_ns(0.99));
    }

    fn onlooker(&self) -> Option<Arc<dyn Onlooker>> {
        Some(self.0.onlooker())
    }
}

fn page(
    input: &Ready,
    policies: &[PolicySpec],
    recorders: Vec<Watched>,
    outcomes: Vec<Outcome>,
    args: &WatchArgs,
) -> Result<Page, Failure> {
    let mut runs = Vec::new();
    for ((policy, Watched(recorder)), outcome) in policies.iter().zip(recorders).zip(outcomes) {
        let result = outcome.result.map_err(|e| e.of_policy(&policy.name))?;
        let mut result = result.stable_json();
        if let Some(result) = result.as_object_mut() {
            // The onlooker's is in it.
            result.remove("memory");
        }
        let run = recorder.finish(&policy.name, &result);
        runs.push(run.ok_or_else(|| {
            Failure::failed(format!(
                "{}: the run ended before the excerpt began; give a smaller --from",
                policy.name
            ))
        })?);
    }
    let command: Vec<_> = std::env::args().skip(1).collect();
    let command = format!("thermocline {}", command.join(" "));
    let names: Vec<_> = policies.iter().map(|policy| policy.name.as_str()).collect();
    let name = input.name();
    let on = if args.input.trace.is_some() { names::file(&name) } else { &name };
    Ok(page::replay(&format!("{} on {on}", names.join(" and ")), &name, &command, &runs))
}

/// Serves the page until stopped.
fn show(page: Page, listener: TcpListener, args: &WatchArgs) -> Result<(), Failure> {
    let failed = |e: std::io::Error| Failure::failed(format!("--listen {}: {e}", args.listen));
    let address = listener.local_addr().map_err(failed)?;
    let site = Arc::new(Shown { page, name: args.listen.clone() });
    let answering = http::start(listener, "page", site, READERS).map_err(failed)?;
    let output = Output::open(None)?;
    output.put(format!("http://{address}/ shows it; Ctrl-C ends\n").as_bytes())?;
    while !interrupt::progress().is_cancelled() {
        thread::sleep(Duration::from_millis(100));
    }
    answering.stop();
    Ok(())
}

struct Shown {
    page: Page,
    name: String,
}

impl Site for Shown {
    fn answer(&self, request: &Request<'_>) -> Answer {
        if !request.means(&self.name) {
            return http::misdirected();
        }
        match request.path {
            "/" => Answer::page(&self.page.html, &self.page.policy),
            _ => Answer::text("404 Not Found", "the page is at /\n"),
        }
    }
}
