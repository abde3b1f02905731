//! The audit in words.

use super::findings::AuditFinding;
use super::lost::Election;
use crate::digits::grouped;
use crate::ids::LeaderEpoch;
use crate::record::audit::LostPlace;

/// Where records vanished.
pub(super) fn place(place: LostPlace, election: Option<Election>, is_deleted: bool) -> String {
    match place {
        LostPlace::LeaderChange { epoch_before, epoch, start_offset } => {
            let LeaderEpoch(epoch) = epoch;
            let elected = match election {
                Some(Election { leader, is_unclean: true, .. }) => {
                    format!("broker {leader} was elected (epoch {epoch}) although it was not in sync")
                }
                Some(Election { leader, .. }) => format!("broker {leader} became the leader (epoch {epoch})"),
                None => format!("a leader of epoch {epoch} took over"),
            };
            let gone = match epoch_before {
                Some(LeaderEpoch(before)) => format!("what epoch {before} had written there is gone"),
                None => "what had been there is gone".to_owned(),
            };
            format!("{elected} and wrote on from offset {start_offset}: {gone}")
        }
        LostPlace::BeforeStart { log_start_offset } => {
            format!("deleted, by request or by age: the log begins at offset {log_start_offset}")
        }
        LostPlace::WithinEpoch { epoch: LeaderEpoch(epoch) } => format!("among what the leader of epoch {epoch} wrote"),
        LostPlace::SinceEpoch { epoch: LeaderEpoch(epoch) } => {
            format!("in epoch {epoch} or a later one: there were more epochs than the audit follows")
        }
        LostPlace::AtEnd { epoch: LeaderEpoch(epoch), end_offset } => {
            format!("the log ends at offset {end_offset}, in epoch {epoch}: what had been behind it is gone")
        }
        LostPlace::Nowhere | LostPlace::NoPartition if is_deleted => "the topic was deleted, and they with it".to_owned(),
        LostPlace::NoPartition => "there is no such partition any more".to_owned(),
        LostPlace::Nowhere => "nothing of their producer is there".to_owned(),
    }
}

/// What the audit says of acknowledged records; `None`: they are all there.
pub(crate) fn sentence(audit: &AuditFinding) -> Option<String> {
    let lost = audit.totals.lost;
    let rest = if audit.is_complete(None) { "" } else { ", as far as the topics could be read" };
    match audit.lost.first() {
        _ if lost == 0 && rest.is_empty() => None,
        _ if lost == 0 => Some(format!("No acknowledged record is lost{rest}: {}.", remarks(audit).pop().unwrap_or_default())),
        None => Some(format!("{}{rest}.", are_lost(lost))),
        Some(place) => {
            let most = if place.records == lost { String::new() } else { format!("most ({}) ", grouped(place.records)) };
            Some(format!("{}{rest}, {most}in {}/{}: {}.", are_lost(lost), place.topic, place.partition, place.in_words))
        }
    }
}

fn are_lost(lost: u64) -> String {
    if lost == 1 { "1 acknowledged record is lost".to_owned() } else { format!("{} acknowledged records are lost", grouped(lost)) }
}

/// What else is worth a line.
pub(crate) fn remarks(audit: &AuditFinding) -> Vec<String> {
    let mut remarks = Vec::new();
    let totals = &audit.totals;
    let mut remark = |count: u64, text: &str| {
        if count > 0 {
            remarks.push(format!("{} {text}", grouped(count)));
        }
    };
    remark(totals.duplicated, "records are there more than once (copies beyond the first)");
    remark(totals.out_of_order, "records come behind one of the same producer and partition that was sent later");
    remark(totals.failed_found, "records are there although their client said for certain that they are not");
    remark(audit.corrupt, "records are damaged: their checksums do not fit");
    remark(audit.foreign, "records are of nobody in this run");
    remark(totals.untold_found, "records are there whose clients told no outcome for their partition");
    remark(audit.missing_offsets, "offsets hold nothing: compacted, or a gap");
    remark(audit.refused, "records are not known of, for their outcomes did not fit into the audit's bound");
    let unread = audit.unread.len();
    if let Some(first) = audit.unread.first() {
        let (topic, partition, why) = (&first.topic, first.partition, &first.why);
        remarks.push(format!("{unread} of {} partitions could not be read: {topic}/{partition}: {why}", audit.partitions));
    }
    for group in &audit.unidentified {
        remarks.push(format!("records of group `{group}` are too short to say whose they are: nothing is known of them"));
    }
    remarks
}
