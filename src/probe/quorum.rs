//! Asks the active controller how far each node has fetched its log.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::board::Board;
use crate::ids::{BrokerId, HostPort};
use crate::kafka::admin::{AdminError, Caller, Identity, Traffic};

/// Bound of one question. The tail finds out soon whether another controller is the active one, so there is no use in waiting long.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);

/// Asks whichever controller is the active one, for ever.
pub(super) async fn watch(board: Arc<Board>, controllers: BTreeMap<BrokerId, HostPort>, client: Identity, traffic: Traffic) {
    let mut asked: Option<(BrokerId, Caller)> = None;
    loop {
        let began = board.clock.now();
        let active = board.controller().and_then(|node| Some((node, controllers.get(&node)?)));
        if let Some((node, listener)) = active {
            let kept = asked.take().filter(|(last, _)| *last == node).map(|(_, caller)| caller);
            let fresh = || Caller::new(listener.clone(), client.clone(), ANSWER_WITHIN, board.clock.clone(), traffic.clone());
            let mut caller = kept.unwrap_or_else(fresh);
            tokio::select! {
                () = ask(&board, node, &mut caller) => asked = Some((node, caller)),
                // Its answer would be that of a controller that is so no longer.
                () = board.follows_another(node) => {}
            }
        }
        board.pause(began, Duration::ZERO).await;
    }
}

async fn ask(board: &Board, node: BrokerId, caller: &mut Caller) {
    let outcome = async {
        caller.connect().await?;
        let asked_at = board.clock.now();
        Ok::<_, AdminError>((caller.quorum().await?, asked_at))
    };
    match outcome.await {
        Ok((quorum, asked_at)) => board.quorum_answered(&quorum, asked_at),
        // Nothing is learned of any node; that there is no active controller, the tail tells.
        Err(error) => tracing::debug!(%node, %error, "the active controller does not say how far nodes have fetched"),
    }
}
