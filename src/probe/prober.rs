//! The thread that looks at all layers while a run goes.
//!
//! A thread of its own, so that looking delays no record, and its cost is known: nothing else runs there. Called by `run`.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{sleep_until, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::board::Board;
use super::{CLIENT_ID, broker, cost, quorum};
use crate::clock::{Clock, Moment};
use crate::ids::{BrokerId, HostPort, TopicName};
use crate::kafka::admin::{Identity, Security, Traffic};
use crate::kafka::raft::{Tail, TailConfig};
use crate::record::fact::Fact;
use crate::record::second::{second_end, second_of};
use crate::record::sink::FactSink;

/// Bound on the end. Nothing on the thread waits for long without giving way.
const END_WITHIN: Duration = Duration::from_secs(2);

/// A node that is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbedNode {
    /// Which.
    pub id: BrokerId,
    /// Where clients ask it; `None`: it is no broker.
    pub client_listener: Option<HostPort>,
    /// Where its controller is reached; `None`: it is none, or out of reach from here.
    pub controller_listener: Option<HostPort>,
}

/// What to look at. Without a controller in reach, nothing is told of the controller's log and who has fetched it: they are unknown.
#[derive(Clone, Debug)]
pub struct ProbeConfig {
    /// The nodes.
    pub nodes: Vec<ProbedNode>,
    /// The topics; such as are not there yet, or no more, do no harm.
    pub topics: Vec<TopicName>,
    /// How brokers' listeners are secured.
    pub clients: Security,
    /// How controllers' are.
    pub controllers: Security,
    /// Where what is seen is told.
    pub facts: FactSink,
}

/// The probes, at work. Ends when it is dropped.
#[derive(Debug)]
pub struct Prober {
    board: Arc<Board>,
    traffic: Traffic,
    stop: DropGuard,
    ended: oneshot::Receiver<()>,
}

/// Tells the probes of steps, from anywhere. Does nothing once they have ended.
#[derive(Clone, Debug)]
pub struct StepNudge(Arc<Board>);

impl StepNudge {
    /// A step was asked for: the layers may change from now on.
    pub fn step_fired(&self) {
        self.0.step_fired();
    }

    /// A step is done: it may have mended what held an answer up, and TCP may be slow to notice. What is overdue is asked anew.
    pub fn step_done(&self) {
        self.0.step_done();
    }
}

impl Prober {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system gives none.
    pub fn start(config: ProbeConfig, clock: &Clock) -> io::Result<Self> {
        let board = Arc::new(Board::new(config.topics, clock.clone(), config.facts));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let stop = CancellationToken::new();
        let (tx, ended) = oneshot::channel();
        let traffic = Traffic::default();
        let probes = Probes {
            board: Arc::clone(&board),
            nodes: config.nodes,
            to_brokers: config.clients.named(CLIENT_ID),
            to_controllers: config.controllers.named(CLIENT_ID),
            traffic: traffic.clone(),
        };
        let until = stop.clone();
        let look = move || {
            runtime.block_on(probes.look(until));
            // Nobody may be listening any more.
            let _ = tx.send(());
        };
        thread::Builder::new().name("chaos-probes".to_owned()).spawn(look)?;
        Ok(Self { board, traffic, stop: stop.drop_guard(), ended })
    }

    /// What steps are to call.
    #[must_use]
    pub fn nudge(&self) -> StepNudge {
        StepNudge(Arc::clone(&self.board))
    }

    /// Where the requests of all probes are counted, so that others who ask under their client id count there too.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        self.traffic.clone()
    }

    /// Ends the thread, after it has told the last, incomplete second. Nothing of it is told after that.
    pub async fn finish(self) {
        drop(self.stop);
        let _ = timeout(END_WITHIN, self.ended).await;
    }
}

/// What runs on the thread.
struct Probes {
    board: Arc<Board>,
    nodes: Vec<ProbedNode>,
    to_brokers: Identity,
    to_controllers: Identity,
    traffic: Traffic,
}

impl Probes {
    async fn look(self, until: CancellationToken) {
        let mut tasks = JoinSet::new();
        for node in &self.nodes {
            if let Some(listener) = &node.client_listener {
                tasks.spawn(broker::watch(
                    Arc::clone(&self.board),
                    node.id,
                    listener.clone(),
                    self.to_brokers.clone(),
                    self.traffic.clone(),
                ));
            }
        }
        let in_reach = |node: &ProbedNode| Some((node.id, node.controller_listener.clone()?));
        let controllers: BTreeMap<BrokerId, HostPort> = self.nodes.iter().filter_map(in_reach).collect();
        let tail = (!controllers.is_empty()).then(|| {
            let config = TailConfig {
                controllers: controllers.values().cloned().collect(),
                client: self.to_controllers.clone(),
                tells_history: false,
            };
            Tail::start(config, self.board.clock.clone(), self.traffic.clone(), Arc::<Board>::clone(&self.board))
        });
        tasks.spawn(quorum::watch(Arc::clone(&self.board), controllers, self.to_controllers.clone(), self.traffic.clone()));
        let mut meter = Meter::new(&self.board, &self.traffic);
        meter.tell_seconds(&until).await;
        if let Some(tail) = tail {
            tail.stop().await;
        }
        tasks.shutdown().await;
        meter.tell(self.board.clock.now());
    }
}

/// Tells what looking costs, second by second. Reads the CPU time of the thread that it runs on.
struct Meter<'a> {
    board: &'a Board,
    traffic: &'a Traffic,
    /// The second that is being measured.
    second: i64,
    /// CPU time at its start.
    cpu: Option<Duration>,
}

impl<'a> Meter<'a> {
    fn new(board: &'a Board, traffic: &'a Traffic) -> Self {
        let second = second_of(board.clock.now(), board.facts.origin());
        Self { board, traffic, second, cpu: cost::thread_cpu() }
    }

    /// Tells each second when it is over; returns in the middle of one.
    async fn tell_seconds(&mut self, until: &CancellationToken) {
        loop {
            let end = second_end(self.second, self.board.facts.origin());
            tokio::select! {
                () = sleep_until(self.board.clock.instant_of(end)) => self.tell(end),
                () = until.cancelled() => return,
            }
        }
    }

    /// Tells the present second up to this moment.
    fn tell(&mut self, at: Moment) {
        let cpu = cost::thread_cpu();
        let used = cpu.zip(self.cpu).map(|(now, before)| now.saturating_sub(before));
        let (fast, unsettled) = self.board.take_fast(at);
        let told = cost::second(self.second, self.traffic.take(), used, fast, unsettled);
        self.board.facts.emit(at, Fact::ProbeSecond(Box::new(told)));
        (self.second, self.cpu) = (self.second + 1, cpu);
    }
}
