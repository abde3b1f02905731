use std::time::Duration;

use super::*;

const RUN: &str = r#"{"verdict": "FAIL", "reasons": ["one", "two"], "started_at": "2026-11-30T01:00:00Z", "facts_lost": 0,
"versions": {"kafka": "4.3.0", "kernel": "6.1", "docker": "20", "librdkafka": "2.10"}, "machine": {"cores": "2", "cpu": "EPYC"},
"groups": [{"name": "native-g", "totals": {"due": 9, "sent": 9, "ok": 9, "failed": 0, "indeterminate": 0}}],
"generator": {"baseline_lateness": {"count": 9, "p50_us": 1, "p99_us": 900, "max_us": 1000}}}"#;

const STEPS: &str = "\
step,parent,round,action,target,resolved_node,was_controller,requested_ms,acknowledged_ms,observed_ms,outcome,detail
1,,,kill,2,2,false,1000,1100,1200,done,
2,,,start,2,2,,5000,5100,9000,done,
3,,,add-partitions,orders (to 4),,,10000,10100,10200,done,
";

const RECOVERY: &str = "\
step,worker,group,producer,topic,partition,last_ok_ms,first_due_unserved_ms,first_error_ms,first_ok_ms,outage_ms,recovered
1,0,native-g,0,orders,0,990,1000,,9000,8000,true
2,0,native-g,0,orders,0,990,1000,,9000,8000,true
1,0,native-g,0,orders,1,,,,,0,true
2,0,native-g,0,orders,1,9100,9200,,10000,800,true
,0,native-g,0,orders,1,100,200,,900,700,true
1,0,java-g,0,orders,1,,,,,0,true
";

const REQUESTS: &str = "\
node,client,request,count
1,native-g-0,METADATA,3
2,native-g-0,METADATA,4
2,native-g-0,PRODUCE,100
1,native-g-1,METADATA,9
";

const FACTS: &str = r#"{"time_us":-5,"worker":0,"fact":"run_started","run_id":"x"}
{"time_us":10,"worker":0,"fact":"metadata_request","group":"native-g","producer":0,"outcome":"updated"}
{"time_us":20,"worker":0,"fact":"metadata_request","group":"native-g","producer":0,"outcome":"disconnected"}
{"time_us":10100000,"worker":0,"fact":"metadata_request","group":"native-g","producer":0,"outcome":"updated"}
{"time_us":12100000,"worker":0,"fact":"metadata_request","group":"native-g","producer":0,"outcome":"updated"}
{"time_us":500000,"worker":0,"fact":"partition_first_used","group":"native-g","producer":0,"topic":"orders","partition":1,"due_us":0}
{"time_us":12200400,"worker":0,"fact":"partition_first_used","group":"native-g","producer":0,"topic":"orders","partition":3,"due_us":0}
{"time_us":13200400,"worker":0,"fact":"partition_first_used","group":"native-g","producer":0,"topic":"orders","partition":2,"due_us":0}
{"time_us":9,"worker":0,"fact":"producer_totals","group":"native-g","producer":0,"totals":{"due":9,"sent":9,"ok":7,"failed":1,"indeterminate":1},"metadata_requests":{"age":7,"start":1}}
{"time_us":9,"worker":0,"fact":"producer_totals","group":"java-g","producer":0,"totals":{"due":9,"sent":9,"ok":9,"failed":0,"indeterminate":0},"metadata_requests":null}
"#;

fn variant() -> Variant {
    let group = |client| VariantGroup { name: format!("{client}-g"), client, of: "g".to_owned(), count: 1 };
    Variant {
        plan: "p".to_owned(),
        text: String::new(),
        groups: vec![group("native"), group("java")],
        left_out: vec!["librdkafka cannot".to_owned()],
        has_due_times: true,
        takes_nodes_down: true,
        growth: Some(("orders".to_owned(), 2)),
        load: Duration::ZERO,
    }
}

fn cell() -> Cell {
    Cell { plan: "p".to_owned(), kafka: "4.3.0".to_owned(), repeat: 2 }
}

#[test]
fn each_figure_comes_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let files = [("steps.csv", STEPS), ("recovery.csv", RECOVERY), ("requests.csv", REQUESTS), ("facts.jsonl", FACTS)];
    files.iter().for_each(|(name, text)| std::fs::write(folder.path().join(name), text).unwrap());
    let rows = figures(&cell(), folder.path(), &variant()).unwrap();
    let text: Vec<String> = rows
        .iter()
        .map(|row| {
            let values = row.values.0.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
            format!("{} {:?} [{}] {values}", row.client, row.metric, row.step)
        })
        .collect();
    assert_eq!(
        text,
        [
            "native MetadataRequests [] 7",
            "native MetadataRequestsOwn [] 8",
            "native MetadataRequestsCutOff [] 1",
            "native Failed [] 1",
            "native Indeterminate [] 1",
            "native FirstUse [3 add-partitions orders (to 4)] 2000",
            "native FirstUseAfterRefresh [3 add-partitions orders (to 4)] 100",
            "native OutageLongest [1 kill 2] 8000",
            "native OutageMean [1 kill 2] 8000",
            "native PartitionsStalled [1 kill 2] 50",
            // The first partition's outage had begun before the start: it is no effect of it.
            "native OutageLongest [2 start 2] 800",
            "native OutageMean [2 start 2] 800",
            "native PartitionsStalled [2 start 2] 100",
            "java MetadataRequests [] 0",
            "java MetadataRequestsOwn [] unknown",
            "java MetadataRequestsCutOff [] unknown",
            "java Failed [] 0",
            "java Indeterminate [] 0",
            "java FirstUse [3 add-partitions orders (to 4)] never",
            "java FirstUseAfterRefresh [3 add-partitions orders (to 4)] unknown",
            "java OutageLongest [1 kill 2] 0",
            "java OutageMean [1 kill 2] 0",
            "java PartitionsStalled [1 kill 2] 0",
        ]
    );
}

#[test]
fn an_outage_without_an_end_has_no_length_and_a_producer_without_a_row_no_value() {
    let recovery = "\
step,worker,group,producer,topic,partition,last_ok_ms,first_due_unserved_ms,first_error_ms,first_ok_ms,outage_ms,recovered
1,0,native-g,0,orders,0,990,1000,,9000,8000,true
1,0,native-g,0,orders,1,990,1000,,,99,false
1,0,native-g,0,orders,2,,,,,0,true
1,0,native-g,2,orders,-1,990,1000,,1600,600,true
";
    let (steps, outages) = (parsed(STEPS), own_outages(parsed(recovery)));
    let group = VariantGroup { name: "native-g".to_owned(), client: "native", of: "g".to_owned(), count: 3 };
    let mut found = Vec::new();
    add_outages(&outages, &steps[0], &group, &mut |metric, _, values| {
        found.push(format!("{metric:?} {}", values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")));
    });
    assert_eq!(found, ["OutageLongest never unknown 600", "OutageMean never unknown 600", "PartitionsStalled 67 unknown 100"]);
}

fn parsed<T: serde::de::DeserializeOwned>(text: &str) -> Vec<T> {
    csv::Reader::from_reader(text.as_bytes()).deserialize().map(Result::unwrap).collect()
}

#[test]
fn a_failed_expectation_is_a_finding_but_lateness_makes_a_run_unusable() {
    let run: RunFile = serde_json::from_str(RUN).unwrap();
    let row = run_row(&cell(), &run, &variant(), ("build", "commit"), 1);
    assert_eq!((row.verdict.as_str(), row.reasons.as_str(), row.unused(20)), ("FAIL", "one; two", None));
    assert_eq!(row.machine, "2 cores, EPYC, kernel 6.1, docker 20");
    assert_eq!(row.clients, "librdkafka 2.10");
    let rows = [
        (RUN.replace("\"p99_us\": 900", "\"p99_us\": 30000"), "the load generator was late: p99 30 ms in the baseline"),
        (RUN.replace("\"facts_lost\": 0", "\"facts_lost\": 3"), "3 facts were lost"),
        (
            RUN.replace(r#"{"count": 9, "p50_us": 1, "p99_us": 900, "max_us": 1000}"#, "null"),
            "nobody knows how late the load generator was",
        ),
        (RUN.replace("\"sent\": 9", "\"sent\": 0"), "`native-g` never sent"),
    ];
    let closed = Variant { has_due_times: false, ..variant() };
    let without: RunFile = serde_json::from_str(&rows[2].0).unwrap();
    assert_eq!(run_row(&cell(), &without, &closed, ("build", "commit"), 1).unused(20), None, "a closed loop is never late");
    for (text, expected) in rows {
        let run: RunFile = serde_json::from_str(&text).unwrap();
        assert_eq!(run_row(&cell(), &run, &variant(), ("build", "commit"), 1).unused(20).as_deref(), Some(expected));
    }
}

#[test]
fn a_run_without_the_brokers_counts_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("steps.csv"), STEPS).unwrap();
    std::fs::write(folder.path().join("recovery.csv"), RECOVERY).unwrap();
    let error = figures(&cell(), folder.path(), &variant()).unwrap_err().to_string();
    assert!(error.contains("requests.csv"), "{error}");
}
