//! The families of the page: names, help and where each value comes from.

use super::{Page, seconds};
use crate::analyze::live::LiveGroup;
use crate::analyze::meters::{GROUPS_MAX, GroupMeters, Meters, RequesterMeters};
use crate::record::fact::{Phase, Totals};

/// A family with a sample for each group of one kind: name, kind, help, and where the value is.
type OfGroups<'f, T> = (&'f str, &'f str, &'f str, fn(&T) -> u64);

/// Phases by their names in facts; before the first of them the load has not begun.
const PHASES: [(Option<Phase>, &str); 7] = [
    (None, "before"),
    (Some(Phase::Warmup), "warmup"),
    (Some(Phase::Steady), "steady"),
    (Some(Phase::Steps), "steps"),
    (Some(Phase::Recovery), "recovery"),
    (Some(Phase::Drain), "drain"),
    (Some(Phase::End), "end"),
];

/// What the run is, where it is, and what it has lost of its own facts.
pub(super) fn run(page: &mut Page, meters: &Meters) {
    if !meters.run.is_empty() {
        page.family("chaos_run_info", "gauge", "What the run is; always 1.");
        let labels: Vec<(&str, &str)> = meters.run.iter().map(|(label, text)| (*label, text.as_str())).collect();
        page.sample("chaos_run_info", &labels, 1);
    }
    page.family("chaos_phase", "gauge", "1 for the phase that the run is in, 0 for the others.");
    for (phase, name) in PHASES {
        page.sample("chaos_phase", &[("phase", name)], u8::from(phase == meters.phase));
    }
    let lost = "Facts that did not fit into the run's stream: the verdict is UNKNOWN then.";
    page.single("chaos_facts_lost_total", "counter", lost, Some(meters.facts_lost));
    let left_out = format!("Groups beyond the first {GROUPS_MAX} of each kind, of which nothing is told here.");
    page.single("chaos_groups_left_out", "gauge", &left_out, Some(meters.groups_left_out));
    let unreadable = "Histograms of a second that could not be read and are missing here.";
    page.single("chaos_histograms_unreadable_total", "counter", unreadable, Some(meters.unreadable));
}

/// Records of each group of producers.
pub(super) fn records(page: &mut Page, live: &[LiveGroup]) {
    let families: [OfGroups<'_, Totals>; 5] = [
        ("chaos_records_due_total", "counter", "Records that became due, sent or not.", |totals| totals.due),
        ("chaos_records_sent_total", "counter", "Records that were handed to the client.", |totals| totals.sent),
        ("chaos_records_ok_total", "counter", "Records that were acknowledged.", |totals| totals.ok),
        ("chaos_records_failed_total", "counter", "Records that are certainly not in the log.", |totals| totals.failed),
        ("chaos_records_indeterminate_total", "counter", "Records that may be in the log.", |totals| totals.indeterminate),
    ];
    for (name, kind, help, count) in families {
        page.of_groups(name, kind, help, bounded(live).map(|group| (group.name.as_str(), Some(count(&group.totals)))));
    }
    let in_flight = "Records handed over and not yet known.";
    page.of_groups("chaos_records_in_flight", "gauge", in_flight, bounded(live).map(|group| (group.name.as_str(), Some(group.in_flight))));
}

/// What the clients of each group do and wait for.
pub(super) fn clients(page: &mut Page, meters: &Meters, live: &[LiveGroup]) {
    let stalled = "Pairs of producer and partition whose oldest unserved record has been due for longer than 500 ms.";
    page.of_groups("chaos_stalled_pairs", "gauge", stalled, bounded(live).map(|group| (group.name.as_str(), group.stalled_pairs)));
    let longest = "How long that record of the worst pair has been due.";
    let seconds_of = |group: &LiveGroup| group.stalled_max_ms.map(|ms| seconds(ms.saturating_mul(1_000)));
    let values = bounded(live).map(|group| (group.name.as_str(), seconds_of(group)));
    page.of_groups("chaos_stalled_max_seconds", "gauge", longest, values);
    requests(page, &meters.groups);
    let response = "From when a record was due to its outcome, `ok` if it was acknowledged.";
    page.family("chaos_response_seconds", "histogram", response);
    for group in &meters.groups {
        for (outcome, classes) in [("ok", &group.response_ok), ("bad", &group.response_bad)] {
            page.histogram("chaos_response_seconds", &[("group", &group.name), ("outcome", outcome)], classes);
        }
    }
}

fn requests(page: &mut Page, groups: &[GroupMeters]) {
    let name = "chaos_metadata_requests_total";
    page.family(name, "counter", "Metadata requests that the group's clients sent, by what made them necessary.");
    for group in groups {
        for (reason, count) in group.metadata_requests.iter().flatten() {
            page.sample(name, &[("group", &group.name), ("reason", reason)], count);
        }
    }
}

/// Groups that do nothing but ask; no family without any.
pub(super) fn requesters(page: &mut Page, meters: &Meters) {
    if meters.requesters.is_empty() {
        return;
    }
    let families: [OfGroups<'_, RequesterMeters>; 5] = [
        ("chaos_requester_requests_due_total", "counter", "Metadata requests of requesters that became due.", |group| group.due),
        ("chaos_requester_requests_sent_total", "counter", "Metadata requests that requesters sent.", |group| group.sent),
        ("chaos_requester_requests_ok_total", "counter", "Metadata requests of requesters that were answered.", |group| group.ok),
        ("chaos_requester_requests_failed_total", "counter", "Metadata requests that were sent and never answered.", |group| group.failed),
        ("chaos_requester_requests_in_flight", "gauge", "Metadata requests of requesters on their way.", |group| group.in_flight),
    ];
    for (name, kind, help, count) in families {
        page.of_groups(name, kind, help, meters.requesters.iter().map(|group| (group.name.as_str(), Some(count(group)))));
    }
}

/// Steps, their parts included.
pub(super) fn steps(page: &mut Page, meters: &Meters) {
    let steps = &meters.steps;
    page.family("chaos_steps_requested_total", "counter", "Steps that were requested, their parts included, by action.");
    steps.requested.iter().for_each(|(action, count)| page.sample("chaos_steps_requested_total", &[("action", action)], count));
    page.family("chaos_steps_finished_total", "counter", "Steps that are over, by outcome.");
    steps.finished.iter().for_each(|(outcome, count)| page.sample("chaos_steps_finished_total", &[("outcome", outcome)], count));
    page.single("chaos_steps_running", "gauge", "Steps that are requested and not over.", Some(steps.open.len()));
    let latest = "Number of the step that was requested last, as in the run's files; 0 before the first.";
    page.single("chaos_step_number", "gauge", latest, Some(steps.latest.map_or(0, |(step, _)| step.0)));
    let at = "When it was requested, in seconds since the start of `steady`.";
    page.single("chaos_step_requested_seconds", "gauge", at, steps.latest.map(|(_, at_us)| at_us as f64 / 1e6));
}

/// The load generator: this process.
pub(super) fn generator(page: &mut Page, meters: &Meters) {
    let late = "How late records were handed over: what is late here is the generator's own doing.";
    page.family("chaos_generator_lateness_seconds", "histogram", late);
    page.histogram("chaos_generator_lateness_seconds", &[], &meters.generator.lateness);
    let process = meters.generator.process;
    let cpu = "CPU time of this process.";
    page.single("chaos_generator_cpu_seconds_total", "counter", cpu, process.map(|(cpu_us, _, _)| seconds(cpu_us)));
    let memory = "Resident memory of this process.";
    page.single("chaos_generator_resident_memory_bytes", "gauge", memory, process.map(|(_, rss_bytes, _)| rss_bytes));
    page.single("chaos_generator_threads", "gauge", "Threads of this process.", process.map(|(_, _, threads)| threads));
}

/// The groups that are told of.
fn bounded(live: &[LiveGroup]) -> impl Iterator<Item = &LiveGroup> {
    live.iter().take(GROUPS_MAX)
}
