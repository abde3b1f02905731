//! Whether anybody could be asked, and whether it is one cluster.

use std::collections::BTreeMap;

use super::Case;
use crate::ids::HostPort;
use crate::probe::trace::diagnosis::{Cause, Finding};
use crate::probe::trace::sighting::{Silence, Unheard, Voice};
use crate::probe::trace::words::listed;

/// Addresses that a sentence names.
const NAMED_MAX: usize = 6;

pub(super) fn findings(case: &Case<'_>) -> Vec<Finding> {
    match case.sighting.views().next() {
        None => vec![nobody(case)],
        Some(_) => two_clusters(case).into_iter().chain(bootstrap_silent(case)).collect(),
    }
}

fn nobody(case: &Case<'_>) -> Finding {
    let voices = &case.sighting.voices;
    let is_controller = voices.iter().any(|voice| matches!(&voice.view, Err(unheard) if unheard.why == Silence::Unsupported));
    let next = if is_controller {
        "An address that speaks Kafka but knows no Metadata is a controller's listener: give it as --controller, and a broker's as --bootstrap."
    } else {
        "Check each address from this machine: name, port, firewall; whether the process runs; and whether the listener wants TLS or SASL (without \
         them it closes, or stays silent): --command-config says how."
    };
    let who = if voices.len() == 1 {
        "The address does not answer".to_owned()
    } else {
        format!("None of {} answers", format_args!("the {} addresses", voices.len()))
    };
    finding(Cause::NobodyAnswers, format!("{who} as a broker: {}.", reasons(voices)), next)
}

/// Ids of clusters, and who says so.
fn two_clusters(case: &Case<'_>) -> Option<Finding> {
    let mut clusters: BTreeMap<&str, Vec<&HostPort>> = BTreeMap::new();
    for (address, view) in case.sighting.views() {
        if let Some(id) = &view.cluster_id {
            clusters.entry(id).or_default().push(address);
        }
    }
    let told: Vec<String> = clusters.iter().map(|(id, addresses)| format!("{} to {id}", listed(addresses))).collect();
    (clusters.len() > 1).then(|| {
        finding(
            Cause::TwoClusters,
            format!("The addresses belong to {} different clusters: {}.", clusters.len(), listed(&told)),
            "A client goes on with whichever answers first. Take the wrong addresses out of bootstrap.servers, or find out which name resolves wrongly.",
        )
    })
}

/// Addresses that were given, and that no broker calls its own.
fn bootstrap_silent(case: &Case<'_>) -> Option<Finding> {
    let given = |voice: &&Voice| case.sighting.bootstrap.contains(&voice.address) && voice.view.is_err();
    let silent: Vec<Voice> =
        case.sighting.voices.iter().filter(given).filter(|voice| case.roll.is_nobodys(&voice.address)).cloned().collect();
    (!silent.is_empty()).then(|| {
        let (noun, verb) = if silent.len() == 1 { ("An address", "does") } else { ("Addresses", "do") };
        finding(
            Cause::BootstrapSilent,
            format!("{noun} that you gave {verb} not answer as a broker: {}.", reasons(&silent)),
            "A client that has only this address never starts: correct its bootstrap.servers, or start what should be there.",
        )
    })
}

/// `host:1 (no connection), host:2 (silent)`.
fn reasons(voices: &[Voice]) -> String {
    let reason =
        |voice: &Voice| format!("{} ({})", voice.address, voice.view.as_ref().map_or_else(Unheard::word, |_| "answers".to_owned()));
    let mut reasons: Vec<String> = voices.iter().take(NAMED_MAX).map(reason).collect();
    if voices.len() > NAMED_MAX {
        reasons.push(format!("{} more", voices.len() - NAMED_MAX));
    }
    listed(&reasons)
}

fn finding(cause: Cause, sentence: String, next: &str) -> Finding {
    Finding { cause, nodes: vec![], partitions: vec![], partition_count: 0, sentence, next: next.to_owned() }
}
