//! Links between nodes: cut and mended by routes, inside the network of the container that holds a node's address.
//!
//! A black hole on the way to a peer drops what the node sends there, on open connections too: the kernel asks for the way of every packet.
//! What the peer sends still arrives, but nothing of it is acknowledged, so each TCP connection between the two stands still after a window of
//! data. Only where the cluster was started for it ([`LinkNeeds`](crate::plan::model::LinkNeeds)). Not here: when that happens (`fault`).

use std::time::Duration;

use bollard::container::LogOutput;
use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
use futures_util::StreamExt;

use super::DockerCluster;
use crate::cluster::ClusterError;
use crate::cluster::daemon::{bounded, could_not};
use crate::ids::BrokerId;

/// Longest wait for a command inside a container.
const COMMAND_WITHIN: Duration = Duration::from_secs(20);
/// What a node's kernel answers when it is asked for a way that is a black hole.
const NO_WAY: &str = "Invalid argument";

impl DockerCluster {
    /// Makes a black hole of the way from a node to each of these.
    pub(super) async fn add_black_holes(&self, from: BrokerId, to: &[BrokerId]) -> Result<(), ClusterError> {
        // One that is there already stays: this may be called again after an attempt that was cut off.
        self.for_each_address(from, to, "ip route replace blackhole $peer || exit 1").await.map(|_| ())
    }

    /// Takes the black holes on the way to these away, as far as there are any.
    pub(super) async fn remove_black_holes(&self, from: BrokerId, to: &[BrokerId]) -> Result<(), ClusterError> {
        let there: Vec<BrokerId> = self.black_holes(from).await?.into_iter().filter(|node| to.contains(node)).collect();
        self.for_each_address(from, &there, "ip route del blackhole $peer || exit 1").await.map(|_| ())
    }

    /// The nodes to which a node has no way, by its own kernel's word.
    pub(super) async fn black_holes(&self, from: BrokerId) -> Result<Vec<BrokerId>, ClusterError> {
        let others: Vec<BrokerId> = self.nodes.iter().map(|node| node.id).filter(|id| *id != from).collect();
        let said = self.for_each_address(from, &others, "echo $node $(ip route get $peer 2>&1)").await?;
        Ok(others.into_iter().filter(|node| said.lines().any(|line| is_black_hole(line, *node))).collect())
    }

    /// Runs a command in the network of `from` for each of these nodes (`$node`) and its address there (`$peer`); what it printed.
    async fn for_each_address(&self, from: BrokerId, to: &[BrokerId], command: &str) -> Result<String, ClusterError> {
        self.container(from)?;
        if to.is_empty() {
            return Ok(String::new());
        }
        // On the host's network no node has an address of its own; no plan that cuts links there passes its check.
        let subnet = self.subnet().await?.ok_or(ClusterError::NoSuchNode(from))?;
        let pairs: Vec<String> = to.iter().map(|node| format!("{node}={}", subnet.address_of(*node))).collect();
        let script = format!("for pair in {}; do node=${{pair%=*}}; peer=${{pair#*=}}; {command}; done", pairs.join(" "));
        let doing = format!("run `{command}` in the container {}", self.run.anchor_name(from));
        let (code, said) = bounded(COMMAND_WITHIN, &doing, self.in_anchor(from, &script)).await?;
        if code == 0 { Ok(said) } else { Err(ClusterError::CommandFailed { node: from, command: command.to_owned(), code, said }) }
    }

    /// Runs a script in a node's anchor: its exit code and what it printed, errors too.
    async fn in_anchor(&self, node: BrokerId, script: &str) -> Result<(i64, String), ClusterError> {
        let (client, anchor) = (self.daemon.client(), self.run.anchor_name(node));
        let options = CreateExecOptions {
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            cmd: Some(vec!["/bin/sh".to_owned(), "-c".to_owned(), script.to_owned()]),
            // Some images run as somebody else, who may not change routes.
            user: Some("0".to_owned()),
            ..CreateExecOptions::default()
        };
        let failed = || could_not(format!("run a command in the container {anchor}"));
        let id = client.create_exec(&anchor, options).await.map_err(failed())?.id;
        let mut said = String::new();
        if let StartExecResults::Attached { mut output, .. } = client.start_exec(&id, None::<StartExecOptions>).await.map_err(failed())? {
            while let Some(piece) = output.next().await {
                let (LogOutput::StdOut { message } | LogOutput::StdErr { message } | LogOutput::Console { message }) =
                    piece.map_err(failed())?
                else {
                    continue;
                };
                said.push_str(&String::from_utf8_lossy(&message));
            }
        }
        let ended = client.inspect_exec(&id).await.map_err(failed())?;
        Ok((ended.exit_code.unwrap_or(-1), said))
    }
}

/// Whether a line, `NODE WHAT THE KERNEL SAID`, says that there is no way to this node.
fn is_black_hole(line: &str, node: BrokerId) -> bool {
    line.split_once(' ').is_some_and(|(id, said)| id == node.to_string() && said.contains(NO_WAY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_black_hole_on_the_way_to_that_very_node_counts() {
        let rows = [
            ("4 ip: RTNETLINK answers: Invalid argument", 4, true),
            ("4 RTNETLINK answers: Invalid argument", 4, true),
            ("4 172.18.0.5 dev eth0  src 172.18.0.2", 4, false),
            ("14 ip: RTNETLINK answers: Invalid argument", 4, false),
            // Its network is gone, which is another fault.
            ("4 ip: RTNETLINK answers: Network unreachable", 4, false),
            ("", 4, false),
        ];
        for (line, node, expected) in rows {
            assert_eq!(is_black_hole(line, BrokerId(node)), expected, "{line}");
        }
    }
}
