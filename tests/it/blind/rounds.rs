//! Rounds of the blind test: plans that stick one layer, or none, drawn from a seed.

use rand::RngExt;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::SeedableRng;

/// What a round sticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stuck {
    /// Two of three controllers freeze.
    Quorum,
    /// A broker's packets to the controller are dropped.
    BrokerLink(i32),
    /// Clients ask for metadata every 600 s only.
    ClientCache,
    /// Clients cannot reach the broker that becomes the leader.
    ClientLink(i32),
    /// Nothing.
    Nothing,
}

/// A change that every layer is to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// A topic gets more partitions.
    Growth,
    /// The leader of all partitions is killed.
    Kill,
    /// It is stopped in order.
    Stop,
}

/// Kinds of rounds, in the order in which they take turns.
const KINDS: usize = 4;

/// The first controller: nodes before it are brokers.
const CONTROLLER: i32 = 4;

/// One round.
#[derive(Debug)]
pub(super) struct Round {
    pub(super) stuck: Stuck,
    pub(super) plan: String,
}

impl Round {
    /// The round of this number; those that stick nothing have a series of their own.
    pub(super) fn draw(seed: u64, number: usize, sticks_nothing: bool) -> Self {
        let mut random = ChaCha12Rng::seed_from_u64(seed);
        random.set_stream(number as u64 * 2 + u64::from(sticks_nothing));
        // Who leads before, and who takes over: the next in the order of replicas.
        let leader = random.random_range(1..=3);
        let heir = leader % 3 + 1;
        let (stuck, change) = match number % KINDS {
            _ if sticks_nothing => (Stuck::Nothing, if random.random_bool(0.5) { Change::Growth } else { Change::Stop }),
            0 => (Stuck::Quorum, Change::Kill),
            1 => (Stuck::BrokerLink(if random.random_bool(0.5) { heir } else { 6 - leader - heir }), Change::Stop),
            2 => (Stuck::ClientCache, Change::Growth),
            _ => (Stuck::ClientLink(heir), Change::Kill),
        };
        let first_frozen = random.random_range(CONTROLLER..=6);
        let to = random.random_range(6..=12);
        let pause_s = random.random_range(1..=3);
        let steps = [sticking(stuck, first_frozen), vec![change.step(leader, to, pause_s)]].concat();
        Self { stuck, plan: plan(leader, heir, stuck, change, &steps) }
    }
}

impl Change {
    fn step(self, leader: i32, to: u32, at_s: u32) -> String {
        let action = match self {
            Self::Growth => format!("add-partitions = {{ topic = \"orders\", to = {to} }}"),
            Self::Kill => format!("kill = {{ broker = {leader} }}"),
            Self::Stop => format!("stop = {{ broker = {leader} }}"),
        };
        format!("[[step]]\nat = \"{at_s}s\"\n{action}\n")
    }
}

/// The steps that stick a layer, before the change.
fn sticking(stuck: Stuck, first_frozen: i32) -> Vec<String> {
    let step = |action: String| format!("[[step]]\nat = \"0s\"\n{action}\n");
    match stuck {
        Stuck::Quorum => {
            let frozen = [first_frozen, if first_frozen == 6 { CONTROLLER } else { first_frozen + 1 }];
            frozen.map(|node| step(format!("pause = {{ node = {node} }}"))).into()
        }
        Stuck::BrokerLink(broker) => {
            vec![step(format!("link = {{ from = {broker}, to = {CONTROLLER}, fault = \"black-hole\" }}"))]
        }
        Stuck::ClientLink(broker) => vec![step(format!("link = {{ from = \"clients\", to = {broker}, fault = \"black-hole\" }}"))],
        Stuck::ClientCache | Stuck::Nothing => Vec::new(),
    }
}

/// All partitions are led by `leader`, and `heir` comes next; the third holds no leader either way.
fn plan(leader: i32, heir: i32, stuck: Stuck, change: Change, steps: &[String]) -> String {
    let third = 6 - leader - heir;
    let max_age_ms = if stuck == Stuck::ClientCache { 600_000 } else { 2_000 };
    // A killed broker is fenced after 9 s, without a quorum never; what is stuck for five seconds is told, and records that wait are waited for.
    let recovery_s = if change == Change::Kill && stuck != Stuck::Quorum { 12 } else { 8 };
    // Each node more makes two cores slower for all; only a quorum can lose its majority.
    let controllers = if stuck == Stuck::Quorum { 3 } else { 1 };
    let steps = steps.concat();
    format!(
        r#"
name = "blind"

[cluster]
kafka = "4.3.0"
brokers = 3
controllers = {controllers}

[[topic]]
name = "orders"
assignment = [[{leader}, {heir}, {third}], [{leader}, {heir}, {third}], [{leader}, {heir}, {third}]]
config = {{ "min.insync.replicas" = 1 }}

[[producers]]
name = "steady"
count = 6
topics = ["orders"]
rate = "5/s"
record = {{ size = "100 B", keys = 100 }}
config = {{ acks = "all", "metadata.max.age.ms" = {max_age_ms} }}

[phases]
warmup = "3s"
steady = "3s"
recovery = "{recovery_s}s"

{steps}
"#
    )
}
