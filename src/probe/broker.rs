//! Asks one broker, over one connection that is kept: what it shows, and whether it serves what it is to lead.
//!
//! Each broker has a task of its own, so that a silent one delays nobody. A question that stays unanswered is not given up for long: a
//! broker that is paused still has its listener's queue, in which clients wait too, and each new connection would take a place there. Only a step
//! that is done makes it asked anew at once: TCP notices late that a network is whole again.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::board::Board;
use crate::clock::Moment;
use crate::ids::{BrokerId, HostPort};
use crate::kafka::admin::{AdminError, Caller, End, Identity, MetadataAnswer, Traffic};

/// A broker that has not answered for so long counts as silent.
const SILENT_AFTER: Duration = Duration::from_secs(1);
/// When a question is given up, and with it its connection.
const GIVE_UP_AFTER: Duration = Duration::from_secs(30);
/// Pause after a look that failed: who refuses connections will do so for a while.
const AFTER_FAILURE: Duration = Duration::from_millis(50);
/// Answers of a broker that are kept: one for each controller that it may name, in clusters of ordinary size.
const SAID_MAX: usize = 8;

/// Why a look showed nothing.
enum Failed {
    /// The broker does not answer, and why.
    Silent(AdminError),
    /// A step was done while an answer was overdue.
    Overtaken,
}

/// Looks at a broker for ever.
pub(super) async fn watch(board: Arc<Board>, node: BrokerId, listener: HostPort, client: Identity, traffic: Traffic) {
    let mut caller = Caller::new(listener, client, GIVE_UP_AFTER, board.clock.clone(), traffic);
    let mut last_word = LastWord::default();
    loop {
        let began = board.clock.now();
        let look = Look { board: &board, node, began };
        match look.at(&mut caller, &mut last_word).await {
            Ok(()) => board.pause(began, Duration::ZERO).await,
            Err(Failed::Silent(error)) => {
                board.broker_silent(node, error.to_string(), began, false);
                board.pause(began, AFTER_FAILURE).await;
            }
            Err(Failed::Overtaken) => {}
        }
    }
}

/// Answers of a broker, as they came, that all say what it said last. There are several, because a broker names a controller at random.
#[derive(Default)]
struct LastWord(VecDeque<MetadataAnswer>);

impl LastWord {
    fn holds(&self, answer: &MetadataAnswer) -> bool {
        self.0.iter().any(|said| said.is_same(answer))
    }

    fn add(&mut self, answer: MetadataAnswer, is_news: bool) {
        if is_news {
            self.0.clear();
        }
        if self.0.len() == SAID_MAX {
            self.0.pop_front();
        }
        self.0.push_back(answer);
    }
}

/// One look.
struct Look<'a> {
    board: &'a Board,
    node: BrokerId,
    began: Moment,
}

impl Look<'_> {
    /// # Errors
    /// The broker does not answer.
    async fn at(&self, caller: &mut Caller, last_word: &mut LastWord) -> Result<(), Failed> {
        self.patiently(caller.connect()).await?;
        let asked_at = self.board.clock.now();
        let answer = self.patiently(caller.metadata(&self.board.topics)).await?;
        if !(last_word.holds(&answer) && self.board.broker_repeated(self.node, asked_at)) {
            let view = answer.read().map_err(Failed::Silent)?;
            let is_news = self.board.broker_showed(self.node, view, asked_at);
            last_word.add(answer, is_news);
        }

        let asked = self.board.open_questions(self.node);
        if asked.is_empty() {
            return Ok(());
        }
        let in_epochs: Vec<_> = asked.iter().map(|(partition, lead)| (partition.clone(), Some(lead.epoch))).collect();
        let asked_at = self.board.clock.now();
        match self.patiently(caller.ends(End::HighWatermark, &in_epochs)).await {
            Ok(answers) => self.board.broker_served(self.node, &asked, &answers, asked_at),
            // A broker that cannot be asked this is not silent for that; whether it is still there, the next look shows.
            Err(Failed::Silent(error)) => tracing::debug!(node = %self.node, %error, "a broker does not say what it serves"),
            Err(Failed::Overtaken) => return Err(Failed::Overtaken),
        }
        Ok(())
    }

    /// Waits for an answer, and tells meanwhile if that takes long.
    async fn patiently<T>(&self, question: impl Future<Output = Result<T, AdminError>>) -> Result<T, Failed> {
        let mut question = pin!(question);
        if let Ok(answer) = timeout(SILENT_AFTER, &mut question).await {
            return answer.map_err(Failed::Silent);
        }
        let mended = self.board.mended.notified();
        let why = format!("it has not answered for {} s", SILENT_AFTER.as_secs());
        self.board.broker_silent(self.node, why, self.began, true);
        tokio::select! {
            answer = question => answer.map_err(Failed::Silent),
            () = mended => Err(Failed::Overtaken),
        }
    }
}
