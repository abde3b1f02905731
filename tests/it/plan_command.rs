//! `chaos plan`, through its arguments and its output.

use std::path::{Path, PathBuf};

use clap::Parser;
use kafka_chaos::cli::plan::{PlanArgs, run};
use kafka_chaos::plan::{self, show, template};

#[derive(Parser)]
struct App {
    #[command(flatten)]
    plan: PlanArgs,
}

/// Exit code and output of `chaos plan ARGUMENTS`.
fn chaos_plan(arguments: &[&str]) -> (u8, String) {
    let app = App::try_parse_from(std::iter::once("plan").chain(arguments.iter().copied())).unwrap();
    let mut out = Vec::new();
    let code = run(app.plan, &mut out, false).unwrap().code();
    (code, String::from_utf8(out).unwrap())
}

fn written(folder: &Path, name: &str, text: &str) -> PathBuf {
    let file = folder.join(name);
    std::fs::write(&file, text).unwrap();
    file
}

const SOUND: &str = "name = \"sound\"\n[[topic]]\nname = \"orders\"\npartitions = 1\nreplication = 1\n[[producers]]\nname = \"lone\"\ntopics = [\"orders\"]\nrate = \"max\"\n";

#[test]
fn check_ends_with_2_if_any_plan_has_a_problem() {
    let folder = tempfile::tempdir().unwrap();
    let sound = written(folder.path(), "sound.toml", SOUND);
    let broken = written(folder.path(), "broken.toml", &SOUND.replace("rate", "rte"));
    let warned = written(folder.path(), "warned.toml", &format!("{SOUND}config = {{ \"metrics.num.samples\" = 3 }}\n"));
    let absent = folder.path().join("absent.toml");
    let path = |file: &Path| file.to_str().unwrap().to_owned();

    let (code, out) = chaos_plan(&["check", &path(&sound)]);
    assert_eq!((code, out), (0, format!("{}: ok\n", path(&sound))));
    let (code, out) = chaos_plan(&["check", &path(&warned)]);
    assert_eq!(code, 0);
    assert!(out.starts_with("warning: ") && out.ends_with("warned.toml: ok, 1 warning\n"), "{out}");
    let (code, out) = chaos_plan(&["check", &path(&broken), &path(&sound)]);
    assert_eq!(code, 2);
    assert!(out.contains("broken.toml: 1 error\n") && out.ends_with("sound.toml: ok\n"), "{out}");
    let (code, out) = chaos_plan(&["check", &path(&absent)]);
    assert_eq!(code, 2);
    assert!(out.starts_with("error: cannot read the plan "), "{out}");
}

#[test]
fn plans_beyond_any_use_are_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let many = |name: &str| format!("\n[[topic]]\nname = \"{name}\"\ncount = 10000\npartitions = 1\nreplication = 1\n");
    let rows = [
        (format!("{SOUND}# {}", "x".repeat(1 << 20)), "a plan at most 1048576"),
        (format!("{SOUND}{}{}", many("a"), many("b")), "a plan makes at most 20000 topics"),
        (SOUND.replace("[[topic]]", "[cluster]\nnodes = 101\n[[topic]]"), "nodes"),
    ];
    for (text, words) in rows {
        let plan = written(folder.path(), "large.toml", &text);
        let (code, out) = chaos_plan(&["check", plan.to_str().unwrap()]);
        assert!(code == 2 && out.contains(words), "{words}: {}", &out[..out.len().min(2_000)]);
    }
}

#[test]
fn show_of_a_broken_plan_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let broken = written(folder.path(), "broken.toml", "name = 3\n");
    let (code, out) = chaos_plan(&["show", broken.to_str().unwrap()]);
    assert_eq!(code, 2);
    assert!(out.contains("`name` takes a name in quotes"), "{out}");
}

#[test]
fn show_has_the_warnings_too() {
    let folder = tempfile::tempdir().unwrap();
    let warned = written(folder.path(), "warned.toml", &format!("{SOUND}config = {{ \"metrics.num.samples\" = 3 }}\n"));
    let file = warned.to_str().unwrap();
    let (code, out) = chaos_plan(&["show", file]);
    assert!(
        code == 0 && out.contains("warning: the native producer does not honour `metrics.num.samples`: it keeps no Kafka metrics"),
        "{out}"
    );
    let (code, out) = chaos_plan(&["show", "--json", file]);
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(code == 0 && value["warnings"].as_array().is_some_and(|warnings| warnings.len() == 1), "{out}");
}

#[test]
fn list_has_each_plan_with_what_it_shows() {
    let folder = tempfile::tempdir().unwrap();
    assert!(chaos_plan(&["list", "--dir", folder.path().to_str().unwrap()]).1.starts_with("no plans in "));
    written(folder.path(), "b.toml", &format!("about = \"What b shows.\"\n{SOUND}"));
    written(folder.path(), "a.toml", "");
    written(folder.path(), "a.json", "");
    let (code, out) = chaos_plan(&["list", "--dir", folder.path().to_str().unwrap()]);
    assert!(out.contains("has problems") && out.contains("What b shows."), "{out}");
    let starts = |name: &str| out.lines().any(|line| line.starts_with(folder.path().join(name).to_str().unwrap()));
    assert!(code == 0 && starts("a.toml") && starts("b.toml") && !out.contains("a.json"), "{out}");
    let (code, out) = chaos_plan(&["list", "--json", "--dir", folder.path().to_str().unwrap()]);
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (code, &value[0]["ok"], &value[1]["name"], &value[1]["about"]),
        (0, &false.into(), &"sound".into(), &"What b shows.".into())
    );
}

/// Exit code, standard output and standard error of the program, run in a folder.
fn program_in(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_chaos")).args(arguments).current_dir(folder).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_new_plan_is_sound_and_named() {
    for template in template::ALL {
        let folder = tempfile::tempdir().unwrap();
        let (code, said, _) = program_in(folder.path(), &["plan", "new", "mine", "--from", template.name]);
        assert_eq!((code, said.lines().next()), (Some(0), Some("mine.toml is written; what next:")), "{said}");
        let file = folder.path().join("mine.toml");
        assert_eq!(chaos_plan(&["check", file.to_str().unwrap()]), (0, format!("{}: ok\n", file.display())));
        assert_eq!(plan::load(&file).unwrap().plan.name, "mine");
    }
}

#[test]
fn a_new_plan_may_come_from_a_plan_and_names_the_schema_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let old = format!("{}{SOUND}# the end\n", template::SCHEMA_LINE);
    written(folder.path(), "old.toml", &old);
    assert_eq!(program_in(folder.path(), &["plan", "new", "mine", "--from", "old.toml"]).0, Some(0));
    let new = SOUND.replace("\"sound\"", "\"mine\"") + "# the end\n";
    assert_eq!(std::fs::read_to_string(folder.path().join("mine.toml")).unwrap(), new);
    written(folder.path(), "plan.schema.json", "{}");
    assert_eq!(program_in(folder.path(), &["plan", "new", "beside", "--from", "mine.toml", "--out", "./beside.toml"]).0, Some(0));
    assert!(std::fs::read_to_string(folder.path().join("beside.toml")).unwrap().starts_with(template::SCHEMA_LINE));
    let (code, printed, _) = program_in(folder.path(), &["plan", "new", "mine", "--from", "old.toml", "--out", "-"]);
    assert_eq!((code, printed), (Some(0), new));
}

#[test]
fn a_new_plan_is_never_written_over_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "kill.toml", "precious");
    let (code, _, said) = program_in(folder.path(), &["plan", "new"]);
    assert!(code == Some(2) && said.contains("kill.toml is there already, and stays as it is"), "{said}");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "precious");
}

#[test]
fn a_new_plan_that_cannot_be_says_why_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path(), "broken.toml", "name = 3\n");
    let rows: [(&[&str], &str); 5] = [
        (&["my plan"], "`my-plan` would do"),
        (&["plans/mine"], "a folder is given with --out"),
        (&["mine", "--from", "rol"], "did you mean `roll`?"),
        (&["mine", "--from", "broken.toml"], "`name` takes a name in quotes"),
        (&["mine", "--out", "no/such/mine.toml"], "there is no folder no/such"),
    ];
    for (arguments, expected) in rows {
        let (code, _, said) = program_in(folder.path(), &[&["plan", "new"], arguments].concat());
        assert!(code == Some(2) && said.contains(expected), "{arguments:?}: {said}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn schema_is_json() {
    let (code, out) = chaos_plan(&["schema"]);
    assert_eq!(code, 0);
    assert!(serde_json::from_str::<serde_json::Value>(&out).unwrap()["$defs"].is_object());
}

/// Everything that `show` can say, once.
const RICH: &str = r#"name = "rich"
about = "Everything at once."
seed = 3

[cluster]
brokers = 3
controllers = 1
config = { "broker.session.timeout.ms" = 6000 }
network = "host"

[[topic]]
name = "many"
count = 100
partitions = 2
replication = 3

[[topic]]
name = "placed"
assignment = [[1, 2], [2, 3]]

[[producers]]
name = "open"
count = 10
share = 5
topics = ["many"]
rate = "1/s"
arrivals = "poisson"
record = { size = "1 KiB", keys = 5 }
active = { from = "2s", until = "20s" }
config = { acks = 1 }

[[producers]]
name = "closed"
topics = ["placed", "late"]
closed = { wait = "4s", every = "100ms" }
bootstrap = ["127.0.0.1:1", "[::1]:2"]

[[producers]]
name = "fast"
topics = ["placed"]
rate = "max"

[[step]]
at = "0s"
create-topic = { name = "late", partitions = 1, replication = 1 }

[[step]]
at = "1s"
repeat = { times = 3, steps = [
    { at = "0s", restart = { broker = "leader-of(placed/0)", how = "stop", grace = "10s", down = "1s" } },
    { at = "5s", pause = { broker = "all" } },
    { at = "8s", unpause = { broker = "all" } },
    { at = "8s", restart = { broker = "follower-of(placed/1)", down = "1s" } },
    { at = "9s", wait = { for = "leader-of(placed/0)", is = 1, within = "30s" } },
] }

[[step]]
at = "10s"
stop = { node = 4 }

[[step]]
at = "20s"
start = { node = 4 }

[[step]]
at = "30s"
rolling = { brokers = [3, 1], then = "5s" }

[[step]]
at = "40s"
add-partitions = { topic = "placed", to = 4 }

[[step]]
at = "41s"
delete-topic = { topic = "late" }

[[step]]
at = "42s"
wait = { for = "5s" }

[[expect]]
metric = "outage.max"
group = "open"
is = "<= 12s"
"#;

#[test]
fn show_says_all_of_a_plan() {
    let checked = plan::parse("rich.toml", RICH).unwrap_or_else(|problems| panic!("{problems}"));
    insta::assert_snapshot!("show_text", show::text(&checked.plan));
    insta::assert_snapshot!("show_json", format!("{:#}", show::json(&checked.plan)).replace(&checked.plan.source.sha256, "SHA256"));
}
