//! Asks one broker, over one connection that is kept: what it shows, and whether it serves what it is to lead.
//!
//! Each broker has a task of its own, so that a silent one delays nobody. A question that stays unanswered is not given up for long: a
//! broker that is paused still has its listener's queue, in which clients wait too, and each new connection would take a place there.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::CLIENT_ID;
use super::board::Board;
use crate::clock::Moment;
use crate::ids::{BrokerId, HostPort};
use crate::kafka::admin::{AdminError, Caller, End, Traffic};

/// A broker that has not answered for so long counts as silent.
const SILENT_AFTER: Duration = Duration::from_secs(1);
/// When a question is given up, and with it its connection.
const GIVE_UP_AFTER: Duration = Duration::from_secs(30);
/// Pause after a look that failed: who refuses connections will do so for a while.
const AFTER_FAILURE: Duration = Duration::from_millis(50);

/// Looks at a broker for ever.
pub(super) async fn watch(board: Arc<Board>, node: BrokerId, listener: HostPort, traffic: Traffic) {
    let mut caller = Caller::new(listener, CLIENT_ID, GIVE_UP_AFTER, board.clock.clone(), traffic);
    loop {
        let began = board.clock.now();
        let look = Look { board: &board, node, began };
        let least = match look.at(&mut caller).await {
            Ok(()) => Duration::ZERO,
            Err(error) => {
                board.broker_silent(node, error.to_string(), began, false);
                AFTER_FAILURE
            }
        };
        board.pause(began, least).await;
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
    async fn at(&self, caller: &mut Caller) -> Result<(), AdminError> {
        self.patiently(caller.connect()).await?;
        let asked_at = self.board.clock.now();
        let view = self.patiently(caller.metadata(&self.board.topics)).await?;
        self.board.broker_showed(self.node, view, asked_at);

        let asked = self.board.open_questions(self.node);
        if asked.is_empty() {
            return Ok(());
        }
        let in_epochs: Vec<_> = asked.iter().map(|(partition, lead)| (partition.clone(), Some(lead.epoch))).collect();
        let asked_at = self.board.clock.now();
        // That a broker cannot be asked this does not make it silent; whether it still is there, the next look shows.
        let answers = self.patiently(caller.ends(End::HighWatermark, &in_epochs)).await.unwrap_or_else(|error| {
            tracing::debug!(node = %self.node, %error, "a broker does not say what it serves");
            BTreeMap::new()
        });
        self.board.broker_served(self.node, &asked, &answers, asked_at);
        Ok(())
    }

    /// Waits for an answer, and tells meanwhile if that takes long.
    async fn patiently<T>(&self, question: impl Future<Output = T>) -> T {
        let mut question = pin!(question);
        if let Ok(answer) = timeout(SILENT_AFTER, &mut question).await {
            return answer;
        }
        let why = format!("it has not answered for {} s", SILENT_AFTER.as_secs());
        self.board.broker_silent(self.node, why, self.began, true);
        question.await
    }
}
