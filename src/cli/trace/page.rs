//! A picture of a cluster as a page: first what is stuck in a sentence, then who says what.
//!
//! Plain text; lines that a finding is about are marked with `!`, and coloured where the caller allows it.

use std::collections::{BTreeMap, BTreeSet};

use crate::digits::grouped;
use crate::ids::{BrokerId, TopicId};
use crate::probe::trace::{AddressRow, ControllerRow, LoggedRow, NodeRow, Outcome, PartitionRow, Picture, Role, Speaker, VersionRow};
use crate::report::text::format::{span_ms, wrapped};
use crate::report::text::style::Style;
use crate::report::text::table::{Table, WIDTH};
use crate::ui::colour::{Painter, Tone};

/// Partitions on a page, where not one topic was asked for.
const PARTITIONS_MAX: usize = 30;

/// The page.
pub(super) fn render(picture: &Picture, colour: bool) -> String {
    let mut page = Page { style: Style { colour }, painter: Painter { enabled: colour }, lines: Vec::new() };
    page.head(picture);
    page.cluster(picture);
    page.nodes(&picture.nodes);
    page.addresses(&picture.addresses);
    page.controllers(&picture.controllers);
    page.partitions(picture);
    page.lines.join("\n") + "\n"
}

struct Page {
    style: Style,
    painter: Painter,
    lines: Vec<String>,
}

impl Page {
    fn head(&mut self, picture: &Picture) {
        let (word, tone) = match picture.outcome {
            Outcome::Healthy => ("NOTHING IS STUCK", Tone::Good),
            Outcome::Stuck => ("STUCK", Tone::Bad),
            Outcome::Unreachable => ("UNREACHABLE", Tone::Bad),
            Outcome::Unknown => ("UNKNOWN", Tone::Warning),
        };
        let word = match (picture.outcome, picture.layer) {
            (Outcome::Stuck, None) => "UNHEALTHY, though no layer is stuck".to_owned(),
            (Outcome::Stuck, Some(layer)) => format!("{word} in the layer `{}`", layer.name()),
            _ => word.to_owned(),
        };
        self.lines.push(self.painter.paint(tone, &word));
        self.wrapped("", &picture.sentence);
        self.wrapped("Next: ", &picture.next);
        for finding in picture.findings.iter().skip(1) {
            self.lines.push(String::new());
            self.wrapped("Also: ", &finding.sentence);
            self.wrapped("  Next: ", &finding.next);
        }
        if !picture.unknown.is_empty() {
            self.lines.push(String::new());
            for unknown in &picture.unknown {
                self.wrapped("Unknown: ", unknown);
            }
        }
    }

    fn wrapped(&mut self, label: &str, text: &str) {
        let indent = " ".repeat(label.len());
        let lines = wrapped(text, WIDTH - label.len());
        let labelled = lines.into_iter().enumerate().map(|(at, line)| format!("{}{line}", if at == 0 { label } else { &indent }));
        self.lines.extend(labelled);
    }

    fn cluster(&mut self, picture: &Picture) {
        let id = picture.cluster_id.as_deref().unwrap_or("unknown");
        let quorum = picture.quorum.as_ref().map_or_else(
            || "active controller unknown".to_owned(),
            |quorum| {
                let committed = count(u64::try_from(quorum.high_watermark).ok());
                format!("active controller {} in epoch {}, its log committed to {committed}", quorum.leader, quorum.leader_epoch)
            },
        );
        self.lines.push(String::new());
        let read = picture.controller_log_offset.map_or_else(String::new, |offset| format!(", read to {}", signed(Some(offset))));
        let took = span_ms(i64::try_from(picture.took_ms).unwrap_or(i64::MAX));
        self.lines.push(format!("Cluster {id}: {quorum}{read}; asked in {took}"));
    }

    fn nodes(&mut self, nodes: &[NodeRow]) {
        let mut table = Table::new(&[
            "<",
            "node",
            "<address",
            "<answers",
            "<listed by",
            "<fenced",
            "<quorum",
            "log offset",
            "behind",
            "fetched",
            "partitions",
            "leads",
        ]);
        for node in nodes {
            table.row([
                mark(node.is_marked),
                node.node.to_string(),
                node.address.clone().unwrap_or_else(|| "-".to_owned()),
                of_broker(node, answers),
                of_broker(node, listed_by),
                of_broker(node, fenced),
                role(node.role),
                signed(node.log_end_offset),
                signed(node.behind),
                fetched(node),
                of_broker(node, |node| count(node.partitions.and_then(|partitions| u64::try_from(partitions).ok()))),
                of_broker(node, |node| count(u64::try_from(node.leads).ok())),
            ]);
        }
        self.table("Nodes", &table, nodes.iter().map(|node| node.is_marked));
    }

    fn addresses(&mut self, rows: &[AddressRow]) {
        let mut table = Table::new(&["<", "<address", "<"]);
        for row in rows {
            table.row([mark(!row.answers), row.address.clone(), row.why.clone().unwrap_or_else(|| "answers".to_owned())]);
        }
        self.table("Other addresses, which no broker calls its own", &table, rows.iter().map(|row| !row.answers));
    }

    fn controllers(&mut self, rows: &[ControllerRow]) {
        let mut table = Table::new(&["<", "<address", "<"]);
        let state = |row: &ControllerRow| match (row.active, &row.why) {
            (Some(true), _) => "the active controller".to_owned(),
            (Some(false), _) => "answers; not the active one".to_owned(),
            (None, why) => why.clone().unwrap_or_else(|| "unknown".to_owned()),
        };
        for row in rows {
            table.row([mark(row.active.is_none()), row.address.clone(), state(row)]);
        }
        self.table("Controllers' listeners that were given", &table, rows.iter().map(|row| row.active.is_none()));
    }

    fn partitions(&mut self, picture: &Picture) {
        let mut table =
            Table::new(&["<", "<partition", "<shown by", "leader", "epoch", "<replicas", "<ISR", "<ELR", "<offline", "<serves"]);
        let mut marks = Vec::new();
        let most = if picture.topic.is_some() { usize::MAX } else { PARTITIONS_MAX };
        for partition in picture.partitions.iter().take(most) {
            if let Some(logged) = partition.logged.as_ref().filter(|logged| logged.is_newer) {
                marks.push(true);
                table.row(logged_cells(partition, logged));
            }
            for (at, version) in partition.versions.iter().enumerate() {
                marks.push(partition.is_marked);
                table.row(partition_cells(partition, version, at == 0));
            }
        }
        let seen = count(u64::try_from(picture.partitions_seen).ok());
        let topics = count(u64::try_from(picture.topics).ok()) + if picture.topics == 1 { " topic" } else { " topics" };
        let notable = count(u64::try_from(picture.partitions_notable).ok());
        let title = format!("Partitions: {seen} in {topics}, {notable} of them unhealthy or different");
        if picture.partitions.is_empty() {
            self.lines.push(String::new());
            self.lines.push(title);
            return;
        }
        self.table(&title, &table, marks);
        self.topic_ids(picture);
        let left_out = picture.partitions_left_out + picture.partitions.len().saturating_sub(most);
        if left_out > 0 {
            self.lines.push(format!("  and {} more", count(u64::try_from(left_out).ok())));
        }
    }

    /// Ids of the topic that was asked for, and who shows each. Of all topics only those that differ matter, and findings name them.
    fn topic_ids(&mut self, picture: &Picture) {
        let Some(topic) = &picture.topic else { return };
        let versions = picture.partitions.iter().flat_map(|partition| &partition.versions);
        let mut ids: BTreeMap<TopicId, BTreeSet<&Speaker>> = BTreeMap::new();
        for version in versions {
            if let Some(id) = version.topic_id {
                ids.entry(id).or_default().extend(&version.shown_by);
            }
        }
        for (id, shown_by) in ids {
            let shown_by: Vec<Speaker> = shown_by.into_iter().cloned().collect();
            self.lines.push(self.style.faint(&format!("  {topic}: topic id {}, shown by {}", id.0, speakers(&shown_by))));
        }
    }

    fn table(&mut self, title: &str, table: &Table, marks: impl IntoIterator<Item = bool>) {
        let mut lines = table.lines(self.style).into_iter();
        let Some(header) = lines.next() else { return };
        self.lines.push(String::new());
        self.lines.push(self.style.heading(title));
        self.lines.push(header);
        let painted = lines.zip(marks).map(|(line, marked)| if marked { self.painter.paint(Tone::Bad, &line) } else { line });
        self.lines.extend(painted);
    }
}

fn partition_cells(partition: &PartitionRow, version: &VersionRow, is_newest: bool) -> Vec<String> {
    let name = if is_newest { format!("{}/{}", partition.topic, partition.partition) } else { String::new() };
    let mut cells = vec![mark(partition.is_marked), name, speakers(&version.shown_by)];
    if !version.known {
        cells.extend(["unknown".to_owned(), "there".to_owned()]);
        return cells;
    }
    cells.extend([
        leader(version.leader),
        version.leader_epoch.map_or_else(|| "unknown".to_owned(), |epoch| epoch.to_string()),
        ids(&version.replicas),
        ids(&version.isr),
    ]);
    if is_newest {
        let elr = partition.elr.as_deref().map_or_else(|| "unknown".to_owned(), ids);
        cells.extend([elr, ids(&version.offline), serves(partition, version)]);
    } else {
        cells.extend([String::new(), ids(&version.offline)]);
    }
    cells
}

fn logged_cells(partition: &PartitionRow, logged: &LoggedRow) -> Vec<String> {
    vec![
        mark(true),
        format!("{}/{}", partition.topic, partition.partition),
        "the log".to_owned(),
        leader(logged.leader),
        logged.leader_epoch.to_string(),
        ids(&logged.replicas),
        ids(&logged.isr),
    ]
}

fn leader(leader: Option<BrokerId>) -> String {
    leader.map_or_else(|| "none".to_owned(), |leader| leader.to_string())
}

fn serves(partition: &PartitionRow, version: &VersionRow) -> String {
    match (version.leader, partition.high_watermark, &partition.refused_name) {
        (None, ..) => "no".to_owned(),
        (_, Some(end), _) => format!("to {}", signed(Some(end))),
        (_, _, Some(code)) => format!("no: {code}"),
        _ => "unknown".to_owned(),
    }
}

fn mark(is_marked: bool) -> String {
    if is_marked { "!".to_owned() } else { String::new() }
}

/// What does not apply to a node that is only a controller.
fn of_broker(node: &NodeRow, cell: impl Fn(&NodeRow) -> String) -> String {
    if node.is_broker { cell(node) } else { "-".to_owned() }
}

fn answers(node: &NodeRow) -> String {
    match (node.answers, &node.why_short) {
        (Some(true), _) => "yes".to_owned(),
        (_, Some(why)) => why.clone(),
        _ => "not asked".to_owned(),
    }
}

fn listed_by(node: &NodeRow) -> String {
    match (node.listed_by.len(), node.listed_of) {
        (_, 0) => "unknown".to_owned(),
        (0, _) => "nobody".to_owned(),
        (all, of) if all == of => format!("all {of}"),
        _ => format!("only {}", speakers(&node.listed_by)),
    }
}

fn fetched(node: &NodeRow) -> String {
    match node.fetched_ms_ago {
        None => "unknown".to_owned(),
        Some(0) => "now".to_owned(),
        Some(ms) => format!("{} ago", span_ms(ms)),
    }
}

fn fenced(node: &NodeRow) -> String {
    let word = match (node.fenced, node.stopping) {
        (Some(true), _) => "yes",
        (Some(false), Some(true)) => "stopping",
        (Some(false), _) => "no",
        (None, _) => "unknown",
    };
    word.to_owned()
}

fn role(role: Option<Role>) -> String {
    let word = match role {
        Some(Role::Active) => "active",
        Some(Role::Voter) => "voter",
        Some(Role::Observer) => "observer",
        None => "unknown",
    };
    word.to_owned()
}

fn speakers(speakers: &[Speaker]) -> String {
    speakers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn ids(nodes: &[BrokerId]) -> String {
    if nodes.is_empty() { "-".to_owned() } else { nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",") }
}

fn signed(value: Option<i64>) -> String {
    count(value.and_then(|value| u64::try_from(value).ok()))
}

fn count(value: Option<u64>) -> String {
    value.map_or_else(|| "unknown".to_owned(), grouped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::LeaderEpoch;
    use crate::probe::trace::tests::world;
    use crate::probe::trace::{Sighting, Silence, diagnose};

    fn page(sighting: &Sighting) -> String {
        render(&Picture::of(sighting, &diagnose(sighting)), false)
    }

    #[test]
    fn a_broker_that_is_cut_off_reads_like_this() {
        let mut sighting = world::healthy();
        world::last_fetch(&mut sighting, 3, 12_000);
        world::fence(&mut sighting, &[1, 2], 3);
        world::edit(&mut sighting, &[1, 2], 2, |p| {
            (p.leader, p.leader_epoch, p.isr, p.offline) = (Some(BrokerId(1)), Some(LeaderEpoch(5)), world::ids(&[1, 2]), world::ids(&[3]));
        });
        world::refuse(&mut sighting, 1, 2, 75);
        world::stranger(&mut sighting, Err(world::unheard(Silence::Closed)));
        sighting.controllers = vec![(world::address(9), Err(world::unheard(Silence::Silent)))];
        insta::assert_snapshot!(page(&sighting));
    }

    #[test]
    fn a_topic_that_is_well_reads_like_this() {
        let mut sighting = world::healthy();
        sighting.scope.topic = Some("orders".into());
        insta::assert_snapshot!(page(&sighting));
    }

    #[test]
    fn a_topic_id_is_told_with_all_who_show_it_whatever_else_they_show() {
        let mut sighting = world::healthy();
        sighting.scope.topic = Some("orders".into());
        world::edit(&mut sighting, &[3], 0, |p| p.isr = world::ids(&[1, 2]));
        let text = page(&sighting);
        assert!(text.contains("  orders: topic id 00000000-0000-0000-0000-000000000007, shown by 1,2,3\n"), "{text}");
    }

    /// All names below an object or a list.
    fn keys(value: &serde_json::Value, into: &mut std::collections::BTreeSet<String>) {
        match value {
            serde_json::Value::Object(fields) => fields.iter().for_each(|(name, field)| {
                into.insert(name.clone());
                keys(field, into);
            }),
            serde_json::Value::Array(elements) => elements.iter().for_each(|element| keys(element, into)),
            _ => {}
        }
    }

    #[test]
    fn every_field_of_the_json_is_documented() {
        let mut sighting = healthy_but_for_all_kinds_of_rows();
        sighting.scope.topic = Some("orders".into());
        let picture = serde_json::to_value(Picture::of(&sighting, &diagnose(&sighting))).unwrap();
        let mut names = std::collections::BTreeSet::new();
        keys(&picture, &mut names);
        assert!(names.len() > 50, "{names:?}");
        let page = include_str!("../../../docs/trace.md");
        let missing: Vec<_> = names.iter().filter(|name| !page.contains(&format!("`{name}`"))).collect();
        assert!(missing.is_empty(), "docs/trace.md does not tell of {missing:?}");
    }

    fn healthy_but_for_all_kinds_of_rows() -> Sighting {
        let mut sighting = world::healthy();
        world::logged(&mut sighting, |_| {});
        world::refuse(&mut sighting, 1, 0, 6);
        world::stranger(&mut sighting, Err(world::unheard(Silence::Closed)));
        sighting.controllers = vec![(world::address(9), Err(world::unheard(Silence::Silent)))];
        sighting
    }

    #[test]
    fn a_page_stays_short_and_only_marked_lines_are_coloured() {
        let mut sighting = world::healthy();
        let many = (0..500).map(|index| {
            let mut view = world::partition(0);
            (view.partition, view.isr) = (crate::ids::PartitionIndex(index), world::ids(&[1]));
            view
        });
        let shown = std::sync::Arc::new(world::topic("many", many.collect()));
        for id in [1, 2, 3] {
            world::view_of(&mut sighting, id).topics.push(std::sync::Arc::clone(&shown));
        }
        let text = page(&sighting);
        assert!(text.lines().count() < 60 && text.contains("  and 470 more\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        let coloured = render(&Picture::of(&sighting, &diagnose(&sighting)), true);
        let line = |start: &str| coloured.lines().find(|line| line.contains(start)).unwrap();
        assert!(line("!  many/0 ").starts_with('\u{1b}') && !line("b1:9092").starts_with('\u{1b}'), "{coloured}");
    }
}
