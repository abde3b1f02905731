//! Properties of topics and brokers: changed while they run, and seen by their own word.
//!
//! A broker takes and tells its own properties alone. On a cluster that stays, a broker gets back what it had; topics are made anew by the
//! next run.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;

use super::event::Outcome;
use super::inject::Hands;
use super::observe::LOOK_EVERY;
use super::watch::{Look, Watch};
use crate::clock::Moment;
use crate::cluster::Cluster;
use crate::ids::{BrokerId, HostPort, TopicName};
use crate::kafka::admin::{AdminError, ConfigChange, ConfigResource, ConfigValue};
use crate::plan::model::PropertyChange;

/// Properties by name, as a broker tells them.
type Told = BTreeMap<String, ConfigValue>;

impl Hands {
    pub(super) async fn configure_topic(&self, topic: &TopicName, change: &PropertyChange) -> Result<(), Outcome> {
        let names = &names(change);
        self.before(change, || self.admin.topic_configs(topic, Some(names))).await?;
        self.admin.alter_topic_configs(topic, &asked(change)).await.map_err(Outcome::from)
    }

    pub(super) async fn configure_broker(&self, broker: BrokerId, change: &PropertyChange) -> Result<(), Outcome> {
        let listener = client_listener_of(&*self.cluster, broker).ok_or_else(|| Outcome::Failed(format!("node {broker} is no broker")))?;
        let (resource, names) = (&ConfigResource::Broker(broker), &names(change));
        let before = self.before(change, || self.admin.configs_of(listener, resource, Some(names))).await?;
        // Before the change: a caller that is dropped in mid-call must still be healed.
        self.guards.before_config(broker, back_to(&before, change));
        self.admin.alter_broker_configs(broker, listener, &asked(change)).await.map_err(Outcome::from)
    }

    /// What is told before a change that changes something.
    async fn before<L>(&self, change: &PropertyChange, mut ask: impl FnMut() -> L) -> Result<Told, Outcome>
    where
        L: Future<Output = Result<Told, AdminError>>,
    {
        let told = self.to_do(|| {
            let answer = ask();
            async { Ok(Some(answer.await.map_err(Outcome::from)?).filter(|told| !is_so(change, told))) }
        });
        told.await?.ok_or_else(|| Outcome::NoOp(format!("it is so already: {change}")))
    }
}

/// Where a broker takes and tells its properties.
pub(super) fn client_listener_of(cluster: &dyn Cluster, broker: BrokerId) -> Option<&HostPort> {
    cluster.nodes().iter().find(|node| node.id == broker)?.client_listener.as_ref()
}

impl Watch {
    /// Waits until every running broker tells a topic's properties as changed.
    pub(super) async fn topic_is_configured(
        &self,
        topic: &TopicName,
        change: &PropertyChange,
        within: Duration,
    ) -> Result<(Moment, String), String> {
        let resource = ConfigResource::Topic(topic.clone());
        self.until(LOOK_EVERY, within, || async {
            match self.running_brokers().await {
                Ok(brokers) => self.look_at_configs(&brokers, &resource, change).await,
                Err(error) => Look::NotYet(error.to_string()),
            }
        })
        .await
    }

    /// Waits until a broker tells its own properties as changed.
    pub(super) async fn broker_is_configured(
        &self,
        broker: BrokerId,
        change: &PropertyChange,
        within: Duration,
    ) -> Result<(Moment, String), String> {
        let listener = client_listener_of(&*self.cluster, broker).ok_or_else(|| format!("node {broker} is no broker"))?;
        let resource = ConfigResource::Broker(broker);
        let asked = [(broker, listener)];
        self.until(LOOK_EVERY, within, || self.look_at_configs(&asked, &resource, change)).await
    }

    async fn look_at_configs(&self, brokers: &[(BrokerId, &HostPort)], resource: &ConfigResource, change: &PropertyChange) -> Look<String> {
        if brokers.is_empty() {
            return Look::NotYet("no broker is running".to_owned());
        }
        let names = names(change);
        let answers = join_all(brokers.iter().map(|(_, listener)| self.probe.configs_of(listener, resource, Some(&names)))).await;
        for ((broker, _), answer) in brokers.iter().zip(answers) {
            match answer {
                Ok(told) if is_so(change, &told) => {}
                Ok(_) => return Look::NotYet(format!("broker {broker} tells {resource} as it was before")),
                Err(error) => return Look::NotYet(format!("broker {broker}: {error}")),
            }
        }
        let ids: Vec<BrokerId> = brokers.iter().map(|(broker, _)| *broker).collect();
        Look::Seen(format!("told by broker {}", super::text::nodes(&ids)))
    }
}

fn names(change: &PropertyChange) -> Vec<&str> {
    change.set.keys().chain(&change.unset).map(String::as_str).collect()
}

fn asked(change: &PropertyChange) -> ConfigChange {
    ConfigChange { set: change.set.clone(), unset: change.unset.clone() }
}

/// Whether properties are as a change wants them. Of a secret only whether it is set can be told.
fn is_so(change: &PropertyChange, told: &Told) -> bool {
    let is_set = |(name, value): (&String, &String)| {
        told.get(name).is_some_and(|now| now.is_own && now.value.as_ref().is_none_or(|now| is_same(value, now)))
    };
    change.set.iter().all(is_set) && change.unset.iter().all(|name| told.get(name).is_none_or(|now| !now.is_own))
}

/// Whether a value is told as it was given: Kafka writes numbers and lists in its own way.
fn is_same(given: &str, told: &str) -> bool {
    let numbers = given.trim().parse::<f64>().ok().zip(told.trim().parse::<f64>().ok());
    let without_spaces = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    numbers.is_some_and(|(given, told)| given.total_cmp(&told).is_eq()) || without_spaces(given).eq_ignore_ascii_case(&without_spaces(told))
}

/// What undoes a change, by what was told before it. A secret cannot be given back, and loses what the step gave it.
fn back_to(before: &Told, change: &PropertyChange) -> ConfigChange {
    let mut back = ConfigChange::default();
    for name in names(change) {
        match before.get(name).filter(|value| value.is_own).and_then(|value| value.value.clone()) {
            Some(value) => _ = back.set.insert(name.to_owned(), value),
            None => _ = back.unset.insert(name.to_owned()),
        }
    }
    back
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(set: &[(&str, &str)], unset: &[&str]) -> PropertyChange {
        PropertyChange {
            set: set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            unset: unset.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    fn told(values: &[(&str, &str, bool)]) -> Told {
        values
            .iter()
            .map(|(name, value, is_own)| ((*name).to_owned(), ConfigValue { value: Some((*value).to_owned()), is_own: *is_own }))
            .collect()
    }

    #[test]
    fn a_property_is_changed_when_it_is_the_resources_own() {
        let rows = [
            (change(&[("a", "1")], &[]), told(&[("a", "1", true)]), true),
            (change(&[("a", "1")], &[]), told(&[("a", "1", false)]), false),
            (change(&[("a", "1")], &[]), told(&[]), false),
            (change(&[("a", "0.50"), ("b", "x, y")], &[]), told(&[("a", "0.5", true), ("b", "x,y", true)]), true),
            (change(&[("a", "TRUE")], &[]), told(&[("a", "true", true)]), true),
            (change(&[("a", "1")], &["b"]), told(&[("a", "1", true), ("b", "2", true)]), false),
            (change(&[("a", "1")], &["b"]), told(&[("a", "1", true), ("b", "2", false)]), true),
            (change(&[], &["b"]), told(&[]), true),
        ];
        for (change, told, expected) in rows {
            assert_eq!(is_so(&change, &told), expected, "{change} {told:?}");
        }
        let secret = Told::from([("a".to_owned(), ConfigValue { value: None, is_own: true })]);
        assert!(is_so(&change(&[("a", "1")], &[]), &secret));
    }

    #[test]
    fn a_broker_gets_back_what_it_had() {
        let before = told(&[("a", "1", true), ("b", "2", false)]);
        let back = back_to(&before, &change(&[("a", "5"), ("b", "5")], &["c"]));
        assert_eq!(back.set, BTreeMap::from([("a".to_owned(), "1".to_owned())]));
        assert_eq!(back.unset.into_iter().collect::<Vec<_>>(), ["b", "c"]);
    }
}
