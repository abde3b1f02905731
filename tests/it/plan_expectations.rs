//! Expectations of plans: their metrics, windows and bounds.

use kafka_chaos::plan;

use crate::plan_check::{BASE, KILL, ROLLING, problems, spoiled};

#[test]
fn expectations() {
    insta::assert_snapshot!(spoiled(&[
        ("metric = \"records.failed\"", "metric = \"record.failed\""),
        ("metric = \"records.failed\"", "metric = \"records.failed\"\ngroup = \"stedy\""),
        ("is = \"== 0\"", "is = \"0\""),
        ("is = \"== 0\"", "is = \"= 0\""),
        ("is = \"== 0\"", "is = \"== none\""),
        ("is = \"== 0\"", "is = \"< 5s\""),
        ("is = \"== 0\"", "is = 0"),
    ]));
}

#[test]
fn windows_of_expectations() {
    let with = |lines: &str| format!("metric = \"records.failed\"\n{lines}");
    let cached = |lines: &str| format!("metric = \"partitions.cached.min\"\n{lines}");
    let cases = [
        with("window = \"basline\""),
        with("window = \"pause\""),
        with("window = \"step 4\""),
        with("window = \"step 0\""),
        with("window = 2"),
        with("except = \"step 1\""),
        with("except = [\"step 9\"]"),
        with("window = \"step 1\"\nexcept = [\"step 1\"]"),
        with("window = \"steps\"\nexcept = [\"step 1\", \"after\"]"),
        with("window = \"rolling\"\nexcept = [\"step 1\"]"),
        with("window = \"rolling\"\nexcept = [\"kill\", \"start\"]"),
        with("window = \"baseline\"\nexcept = [\"steps\"]"),
        "metric = \"outage.max\"\nexcept = [\"warm-up\"]".to_owned(),
        cached("window = \"baseline\""),
        cached("except = [\"step 1\"]"),
        "metric = \"outage.max\"\nexcept = [\"run\"]".to_owned(),
        "metric = \"layer.route.max\"\nwindow = \"run\"".to_owned(),
        "metric = \"generator.lateness.p99\"\nwindow = \"step 1\"".to_owned(),
        "metric = \"broker.cpu-percent\"\ngroup = \"steady\"".to_owned(),
        "metric = \"requesters.sent\"\ngroup = \"steady\"".to_owned(),
    ];
    let cases: Vec<(&str, &str)> = cases.iter().map(|case| ("metric = \"records.failed\"", case.as_str())).collect();
    insta::assert_snapshot!(spoiled(&cases));
}

#[test]
fn a_plan_without_steps_has_no_figures_of_steps() {
    let (plan, _) = BASE.split_once("[[step]]").unwrap();
    let of = |lines: &str| problems(&format!("{plan}[[expect]]\nmetric = {lines}\nis = \"== 0\"\n")).to_string();
    for (lines, says) in [
        ("\"outage.max\"", "write a `[[step]]`, or `window = \"run\"`"),
        ("\"layer.route.max\"", "help: write a `[[step]]`"),
        ("\"records.failed\"\nwindow = \"steps\"", "no step of this plan changes anything"),
    ] {
        assert!(of(lines).contains(says), "{lines}: {}", of(lines));
    }
    assert_eq!(of("\"outage.max\"\nwindow = \"run\""), "");
    assert_eq!(of("\"outage.hang\""), "");
}

#[test]
fn windows_of_the_plans_own_steps_and_their_parts_are_known() {
    for window in ["warm-up", "baseline", "after", "run", "steps", "step 1", "step 3", "kill", "start", "rolling"] {
        let text = BASE.replacen("is = \"== 0\"", &format!("is = \"== 0\"\nwindow = \"{window}\""), 1);
        let checked = plan::parse("plan.toml", &text).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(checked.plan.expectations[0].window.to_string(), window);
    }
    let text = BASE.replacen("is = \"== 0\"", "is = \"== 0\"\nexcept = [\"step 1\", \"rolling\"]", 1);
    let plan = plan::parse("plan.toml", &text).unwrap().plan;
    assert_eq!(plan.expectations[0].to_string(), "records.failed == 0 except the plan's step 1, rolling");
    let quiet = BASE.replacen(ROLLING, "wait = { for = \"3s\" }", 1).replacen("is = \"== 0\"", "is = \"== 0\"\nwindow = \"step 3\"", 1);
    assert!(problems(&quiet).to_string().contains("step 3 is a `wait`"), "{}", problems(&quiet));
    // An outage of the kill may last into the start.
    let outage = BASE.replacen("records.failed\"\nis", "outage.max\"\nwindow = \"start\"\nexcept = [\"step 1\"]\nis", 1);
    assert!(problems(&outage).is_empty(), "{}", problems(&outage));
    // A step that could not be read hides what it would have been.
    let broken = BASE.replacen(KILL, "kil = { broker = 2 }", 1).replacen("is = \"== 0\"", "is = \"== 0\"\nwindow = \"kill\"", 1);
    assert!(!problems(&broken).to_string().contains("there is no window"), "{}", problems(&broken));
}

#[test]
fn bounds_have_the_metrics_units() {
    for (metric, is, value) in [
        ("latency.p99.9", "<= 1.5s", 1_500.0),
        ("layer.route.max", "<= 300", 300.0),
        ("metadata-requests.response-bytes", "< 16 KiB", 16_384.0),
        ("broker.cpu-percent", "<= 50", 50.0),
    ] {
        let text = BASE.replacen("\"records.failed\"", &format!("\"{metric}\""), 1).replacen("== 0", is, 1);
        let plan = plan::parse("plan.toml", &text).unwrap_or_else(|problems| panic!("{problems}")).plan;
        assert!((plan.expectations[0].value - value).abs() < f64::EPSILON, "{metric} {is}");
    }
}
