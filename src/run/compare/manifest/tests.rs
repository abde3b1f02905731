//! The manifest is read back, is the same comparison or another, and is refused when it is damaged.

use super::*;

fn cells(plan_text: &str, changes: &[Change]) -> (Plan, Vec<Cell>) {
    (plan::parse("p.toml", plan_text).unwrap().plan, vary::cells("p.toml", plan_text, changes).unwrap())
}

fn plan_text(steps: &str) -> String {
    format!(
        "name = \"p\"\nseed = 9\n[[topic]]\nname = \"a\"\npartitions = 1\nreplication = 1\n[[producers]]\nname = \"g\"\ntopics = [\"a\"]\nrate = \"1/s\"\n{steps}"
    )
}

fn manifest(changes: &[&str], repeats: u32, steps: &str) -> Manifest {
    let changes: Vec<Change> = changes.iter().map(|text| Change::Vary((*text).to_owned())).collect();
    let (plan, cells) = cells(&plan_text(steps), &changes);
    Manifest::new(Design { plan: &plan, changes: &changes, repeats, seed: None }, &cells)
}

#[test]
fn the_file_reads_back() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(Manifest::read(folder.path()).unwrap(), None);
    let manifest = manifest(&["topic.a.partitions=1,2"], 2, "");
    manifest.write(folder.path()).unwrap();
    assert_eq!(Manifest::read(folder.path()).unwrap(), Some(manifest.clone()));
    let folders: Vec<&str> = manifest.runs.iter().map(|run| run.folder.as_str()).collect();
    assert_eq!((folders.len(), folders[0], folders[5]), (6, "001-1-control", "006-1-control"));
    assert_eq!(manifest.seed, 9, "the plan's");

    let path = folder.path().join(MANIFEST);
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("\"format\": 1", "\"format\": 2")).unwrap();
    assert!(matches!(Manifest::read(folder.path()), Err(CompareError::Format { found: 2, .. })));
    // Of a format that is to come, not even the fields are known.
    fs::write(&path, "{\"format\": 3, \"cell\": []}").unwrap();
    assert!(matches!(Manifest::read(folder.path()), Err(CompareError::Format { found: 3, .. })));
    fs::write(&path, "{}").unwrap();
    assert!(matches!(Manifest::read(folder.path()), Err(CompareError::Manifest { .. })));
}

#[test]
fn a_damaged_manifest_is_told_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let whole = manifest(&["topic.a.partitions=1,2"], 2, "");
    let path = folder.path().join(MANIFEST);
    whole.write(folder.path()).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let said = |text: &str| {
        fs::write(&path, text).unwrap();
        let read = Manifest::read(folder.path()).map(Option::unwrap);
        read.and_then(|manifest| manifest.cells_of(folder.path()).map(drop)).unwrap_err().to_string()
    };
    for (damaged, expected) in [
        (text[..text.len() / 2].to_owned(), "is no manifest of a comparison: EOF"),
        (text.replace("001-1-control", "../out"), "is damaged: the folder of its run 1, `../out`, is no plain name"),
        (text.replace("rate = \\\"1/s", "rate = \\\"2/s"), "is damaged: the text of its plan was changed"),
        (text.replace("\"repeats\": 2", "\"repeats\": 3"), "would make it otherwise"),
    ] {
        let said = said(&damaged);
        assert!(said.contains(expected), "{expected} is not in {said}");
    }
    assert!(matches!(Manifest::read(folder.path()), Ok(Some(_))), "the last one only counts otherwise");
}

#[test]
fn only_the_same_comparison_is_resumed() {
    let begun = manifest(&["topic.a.partitions=1,2"], 2, "");
    assert_eq!(manifest(&["topic.a.partitions=1,2"], 2, "").differs(&begun), None);
    let rows = [
        (manifest(&["topic.a.partitions=1,3"], 2, ""), "what varies: --vary 'topic.a.partitions=1,2'"),
        (manifest(&["topic.a.partitions=1,2"], 3, ""), "--repeat 2"),
        (manifest(&["topic.a.partitions=1,2"], 2, "# other"), "the text of the plan (p.toml)"),
        (Manifest { seed: 1, ..begun.clone() }, "--seed 9"),
        (Manifest { one_cluster: false, ..begun.clone() }, "the way in which version"),
    ];
    for (other, expected) in rows {
        let said = other.differs(&begun).unwrap();
        assert!(said.starts_with(expected), "{said}");
    }
}

#[test]
fn a_cluster_is_shared_only_by_plans_that_ask_for_the_same_and_leave_it_so() {
    let joins = "[[step]]\nat = \"0s\"\nadd-broker = {}\n";
    let rows = [("topic.a.partitions=1,2", "", true), ("cluster.nodes=1,3", "", false), ("topic.a.partitions=1,2", joins, false)];
    for (change, steps, expected) in rows {
        assert_eq!(manifest(&[change], 1, steps).one_cluster, expected, "{change} {steps}");
    }
}

#[test]
fn a_folder_tells_number_and_cell() {
    let rows = [
        (1, "2s", true, "001-2s-control"),
        (12, "2s, 3", false, "012-2s-3"),
        (7, "[[1, 2]]", false, "007-1-2"),
        (1234, "", false, "1234"),
        (2, "äö/../x", false, "002-..-x"),
    ];
    for (number, cell, is_control, expected) in rows {
        assert_eq!(folder_name(number, cell, is_control), expected);
    }
}
