use super::*;
use crate::judge;
use crate::rows::{Cell, FigureRow, Values};

const RUNS: &str = "\
plan,kafka,repeat,started_at,verdict,reasons,distrust,late_ms,attempts,left_out,takes_nodes_down,build,commit,clients,machine
growth,4.3.0,1,2026-11-30T01:00:00Z,PASS,,,3,1,,false,0.1.0 (ab),c0ffee,java 4.3.0,2 cores
growth,4.3.0,2,2026-12-01T01:00:00Z,FAIL,expected x,,20,2,librdkafka cannot make `slow`: no key,false,0.1.0 (ab),c0ffee,java 4.3.0,2 cores
kill,4.0.2,1,2026-11-30T01:00:00Z,UNKNOWN,late,,21,3,,true,0.1.0 (ab),c0ffee,java 4.3.0,2 cores
kill,4.0.2,2,2026-11-29T01:00:00Z,PASS,,,1,1,,true,0.0.9 (aa),bad,java 4.2.0,2 cores
";

const FIGURES: &str = "\
plan,kafka,repeat,client,group,metric,step,values
growth,4.3.0,1,native,quick,metadata-requests,,9 9
growth,4.3.0,1,native,quick,metadata-requests-own,,9 9
growth,4.3.0,1,native,quick,metadata-requests-cut-off,,0 0
growth,4.3.0,1,librdkafka,quick,metadata-requests,,20 21
growth,4.3.0,1,librdkafka,quick,metadata-requests-own,,20 22
growth,4.3.0,1,librdkafka,quick,metadata-requests-cut-off,,unknown unknown
growth,4.3.0,1,java,quick,metadata-requests,,9 10
growth,4.3.0,1,java,quick,metadata-requests-own,,unknown unknown
growth,4.3.0,1,java-b,quick,metadata-requests,,9 9
growth,4.3.0,1,native,quick,first-use-after-refresh,1 add-partitions orders (to 6),9000 9100
growth,4.3.0,1,java,quick,first-use-after-refresh,1 add-partitions orders (to 6),4000 4100
growth,4.3.0,1,java-b,quick,first-use-after-refresh,1 add-partitions orders (to 6),4050 4200
growth,4.3.0,2,native,quick,metadata-requests,,9 9
growth,4.3.0,2,native,quick,first-use,1 add-partitions orders (to 6),4900 never
growth,4.3.0,2,native,quick,failed,,0 0
growth,4.3.0,2,native,quick,metadata-requests-own,,9 10
growth,4.3.0,2,java,quick,metadata-requests,,9 9
growth,4.3.0,2,java-b,quick,metadata-requests,,9 9
";

/// Of the plan as a whole; of what is within; of what is outside, among others.
const NOTES: &str = "\
plan,metrics,note
growth,,So it is.
growth,metadata-requests,No reason.
growth,first-use first-use-after-refresh,Because.
";

/// The tables as files in a folder, as a committed measurement has them.
fn store() -> Store {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("runs.csv"), RUNS).unwrap();
    std::fs::write(folder.path().join("figures.csv"), FIGURES).unwrap();
    Store::read(folder.path(), 20).unwrap()
}

fn pages() -> (String, String) {
    let store = store();
    let (comparisons, counts) = (judge::compare(&store), judge::counts(&store));
    let notes: Vec<Note> = csv::Reader::from_reader(NOTES.as_bytes()).deserialize().map(Result::unwrap).collect();
    let cell = |plan: &str, repeat| Cell { plan: plan.to_owned(), kafka: "4.3.0".to_owned(), repeat };
    let asked = [cell("growth", 1), cell("growth", 2), cell("growth", 3)];
    let found = Found { store: &store, asked: &asked, comparisons: &comparisons, counts: &counts, notes: &notes };
    (found.summary(), found.details())
}

#[test]
fn the_summary_follows_from_the_tables() {
    insta::assert_snapshot!("summary", pages().0);
}

#[test]
fn the_details_follow_from_the_tables() {
    insta::assert_snapshot!("details", pages().1);
}

#[test]
fn tables_are_written_as_they_were_read_and_a_run_measured_again_replaces_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = store();
    store.write(folder.path()).unwrap();
    assert_eq!(std::fs::read_to_string(folder.path().join("runs.csv")).unwrap(), RUNS);
    assert_eq!(Store::read(folder.path(), 20).unwrap(), store);
    let again = store.runs[0].clone();
    let figure = FigureRow { values: Values(Vec::new()), ..store.figures[0].clone() };
    store.put(again, vec![figure]);
    let cell = Cell { plan: "growth".to_owned(), kafka: "4.3.0".to_owned(), repeat: 1 };
    assert_eq!(store.runs.len(), 4);
    assert_eq!(store.figures.iter().filter(|row| crate::rows::cell_of(row) == cell).count(), 1);
}
