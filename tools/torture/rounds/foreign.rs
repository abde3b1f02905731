//! A container, a network and a volume that are not `chaos`'s: whatever becomes of a round, they stay as they are.

use std::process::Command;

use anyhow::Context as _;

/// What of the engine's answers says that nobody has touched them.
const CONTAINER: &str = "{{.Id}} {{.State.Status}} {{.State.Pid}} {{.State.StartedAt}} {{.RestartCount}} {{json .Config.Labels}} {{json .NetworkSettings.Networks}}";
const NETWORK: &str = "{{.Id}} {{.Created}} {{json .Labels}} {{json .IPAM}} {{json .Containers}}";
const VOLUME: &str = "{{.Name}} {{.CreatedAt}} {{json .Labels}}";

/// Things of somebody else. Removed when they are dropped.
#[derive(Debug)]
pub(crate) struct Foreign {
    name: String,
    before: String,
}

impl Foreign {
    /// Makes them. The container carries a label of ours, but not the one that says that it is ours.
    ///
    /// # Errors
    /// The engine refuses.
    pub(crate) fn make(image: &str) -> anyhow::Result<Self> {
        let name = format!("torture-stranger-{}", std::process::id());
        let mut foreign = Self { name: name.clone(), before: String::new() };
        docker(&["network", "create", &name])?;
        docker(&["volume", "create", &name])?;
        let mount = format!("{name}:/stranger");
        let node = "io.kafka-chaos.node=1";
        let run = ["run", "-d", "--name", &name, "--network", &name, "--label", node, "--volume", &mount, "--entrypoint", "sleep"];
        docker(&[&run[..], &[image, "1000000"]].concat())?;
        foreign.before = foreign.inspect()?;
        Ok(foreign)
    }

    /// What has become of them, if anything has.
    ///
    /// # Errors
    /// The engine does not answer, or one of them is gone.
    pub(crate) fn change(&self) -> anyhow::Result<Option<String>> {
        let now = self.inspect()?;
        Ok((now != self.before).then(|| format!("what is not ours was touched: {} became {now}", self.before)))
    }

    fn inspect(&self) -> anyhow::Result<String> {
        let kinds = [("container", CONTAINER), ("network", NETWORK), ("volume", VOLUME)];
        let said: anyhow::Result<Vec<String>> =
            kinds.map(|(kind, format)| docker(&[kind, "inspect", "--format", format, &self.name])).into_iter().collect();
        Ok(said?.concat())
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        // As far as they were made.
        let _ = docker(&["rm", "-f", "-v", &self.name]);
        let _ = docker(&["network", "rm", &self.name]);
        let _ = docker(&["volume", "rm", &self.name]);
    }
}

fn docker(arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("docker").args(arguments).output().context("cannot start docker")?;
    let said = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "docker {}: {}", arguments.join(" "), said.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
