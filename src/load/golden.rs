//! Schedules, keys and values that the Java producer program must make too: its own tests read the same file (`clients/java/test/Golden`).

use std::fmt::Write;
use std::num::NonZeroU32;

use crate::ids::ProducerIndex;
use crate::load::arrivals::DueTimes;
use crate::load::keys::Keys;
use crate::load::payload::Payload;
use crate::load::seed::{Purpose, producer_seed, producer_seed_u64};

const GOLDEN: &str = include_str!("../../clients/java/test/golden.txt");
const PLAN_SEED: u64 = 7;

/// The first five and the ten thousandth.
fn times(mut times: DueTimes) -> String {
    let mut chosen = Vec::new();
    for index in 1..=10_000 {
        if index <= 5 || index == 10_000 {
            chosen.push(times.next_us().to_string());
        }
        times.advance();
    }
    chosen.join(" ")
}

fn lines() -> String {
    let mut text = String::new();
    for group in ["steady", "größer"] {
        for producer in [0, 3].map(ProducerIndex) {
            let seed = producer_seed_u64(PLAN_SEED, group, producer, Purpose::Payload);
            let arrivals = producer_seed(PLAN_SEED, group, producer, Purpose::Arrivals);
            let mut keys = Keys::new(NonZeroU32::new(1_000).unwrap(), seed);
            let mut key = |round| String::from_utf8(keys.key(round).to_vec()).unwrap();
            let mut line = |what: &str, value: &str| writeln!(text, "{group} {} {what} {value}", producer.0).unwrap();
            line("constant", &times(DueTimes::constant(3.7, producer, 10)));
            line("poisson", &times(DueTimes::poisson(20.0, arrivals)));
            line("keys", &format!("{} {} {}", key(0), key(1), key(999)));
            for size in [3, 7, 19, 31, 32, 45] {
                let value = Payload::new(size, group, producer, seed).write(77, -5).to_vec();
                line("value", &value.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
            }
        }
    }
    text
}

#[test]
fn the_java_program_is_held_to_what_the_load_is_today() {
    let lines = lines();
    assert!(lines == GOLDEN, "clients/java/test/golden.txt must hold:\n{lines}");
}
