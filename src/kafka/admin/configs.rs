//! Properties of topics and brokers: what they are by a broker's own word, and changes of them.
//!
//! A broker tells and takes its own properties alone; a topic's are told by every broker and changed through any.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};
use kafka_protocol::messages::{
    DescribeConfigsRequest, DescribeConfigsResponse, IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse,
};
use kafka_protocol::protocol::StrBytes;

use super::{Admin, AdminError, Failure};
use crate::ids::{BrokerId, HostPort, TopicName};
use crate::kafka::wire::error::ErrorCode;

/// Kinds of resources on the wire.
const TOPIC: i8 = 2;
const BROKER: i8 = 4;
/// Operations on the wire.
const SET: i8 = 0;
const DELETE: i8 = 1;
/// Sources on the wire: the resource's own property, as opposed to a default or a file.
const OF_TOPIC: i8 = 1;
const OF_BROKER: i8 = 2;

/// What has properties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigResource {
    /// A topic.
    Topic(TopicName),
    /// One broker.
    Broker(BrokerId),
}

impl fmt::Display for ConfigResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Topic(topic) => write!(f, "topic {topic}"),
            Self::Broker(broker) => write!(f, "broker {broker}"),
        }
    }
}

/// A change of properties.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigChange {
    /// Properties that get a value.
    pub set: BTreeMap<String, String>,
    /// Properties that lose theirs, and fall back to a default.
    pub unset: BTreeSet<String>,
}

/// A property by a broker's word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigValue {
    /// Its value; `None`: it is a secret, or has none.
    pub value: Option<String>,
    /// Whether it is set on this very resource at run time; else it comes from a default or a file.
    pub is_own: bool,
}

impl Admin {
    /// Properties of a resource by that very broker's word, asked once: those named, or all. Names that the broker does not know are missing.
    ///
    /// # Errors
    /// No answer within the call's bound, or the broker does not tell: the topic is unknown to it, or the properties are another broker's.
    pub async fn configs_of(
        &self,
        broker: &HostPort,
        resource: &ConfigResource,
        names: Option<&[&str]>,
    ) -> Result<BTreeMap<String, ConfigValue>, AdminError> {
        read_configs(self.ask(broker, &describe_request(resource, names)).await?).map_err(Failure::into_error)
    }

    /// Properties of a topic by the word of any broker: those named, or all.
    ///
    /// # Errors
    /// [`AdminError::Refused`] if there is no such topic; any other if no broker could be asked in time.
    pub async fn topic_configs(&self, topic: &TopicName, names: Option<&[&str]>) -> Result<BTreeMap<String, ConfigValue>, AdminError> {
        self.ask_any(&describe_request(&ConfigResource::Topic(topic.clone()), names), read_configs).await
    }

    /// Changes properties of a topic, through any broker.
    ///
    /// # Errors
    /// [`AdminError::Refused`] if Kafka does; any other if no broker could be asked in time.
    pub async fn alter_topic_configs(&self, topic: &TopicName, change: &ConfigChange) -> Result<(), AdminError> {
        self.ask_any(&alter_request(&ConfigResource::Topic(topic.clone()), change), read_altered).await
    }

    /// Changes properties of a broker at run time, through its own listener.
    ///
    /// # Errors
    /// [`AdminError::Refused`] if Kafka does, for instance because it takes the property only at its start; any other if the broker could not
    /// be asked in time.
    pub async fn alter_broker_configs(&self, broker: BrokerId, listener: &HostPort, change: &ConfigChange) -> Result<(), AdminError> {
        let request = alter_request(&ConfigResource::Broker(broker), change);
        let give_up_at = self.clock.now() + self.patience;
        loop {
            match self.ask(listener, &request).await.map_err(Failure::from).and_then(read_altered) {
                Ok(()) => return Ok(()),
                // The same change twice is the same change.
                Err(failure) => self.pause_before_retry(failure, give_up_at).await?,
            }
        }
    }
}

fn describe_request(resource: &ConfigResource, names: Option<&[&str]>) -> DescribeConfigsRequest {
    let (kind, name) = wire_resource(resource);
    let keys = names.map(|names| names.iter().map(|name| text(name)).collect());
    let asked = DescribeConfigsResource::default().with_resource_type(kind).with_resource_name(name).with_configuration_keys(keys);
    DescribeConfigsRequest::default().with_resources(vec![asked])
}

fn alter_request(resource: &ConfigResource, change: &ConfigChange) -> IncrementalAlterConfigsRequest {
    let set = change.set.iter().map(|(name, value)| (name, SET, Some(text(value))));
    let unset = change.unset.iter().map(|name| (name, DELETE, None));
    let configs = set.chain(unset).map(|(name, operation, value)| {
        AlterableConfig::default().with_name(text(name)).with_config_operation(operation).with_value(value)
    });
    let (kind, name) = wire_resource(resource);
    let resource = AlterConfigsResource::default().with_resource_type(kind).with_resource_name(name).with_configs(configs.collect());
    IncrementalAlterConfigsRequest::default().with_resources(vec![resource])
}

fn read_altered(response: IncrementalAlterConfigsResponse) -> Result<(), Failure> {
    const ASKED: &str = "IncrementalAlterConfigs";
    let Some(result) = response.responses.into_iter().next() else {
        return Err(Failure::Again(AdminError::Incomplete { asked: ASKED, missing: "resource" }));
    };
    match ErrorCode::from_wire(result.error_code) {
        Some(code) => Err(Failure::refused(ASKED, code, result.error_message.as_ref())),
        None => Ok(()),
    }
}

fn read_configs(response: DescribeConfigsResponse) -> Result<BTreeMap<String, ConfigValue>, Failure> {
    const ASKED: &str = "DescribeConfigs";
    let Some(result) = response.results.into_iter().next() else {
        return Err(Failure::Final(AdminError::Incomplete { asked: ASKED, missing: "resource" }));
    };
    if let Some(code) = ErrorCode::from_wire(result.error_code) {
        return Err(Failure::refused(ASKED, code, result.error_message.as_ref()));
    }
    let configs = result.configs.into_iter().map(|config| {
        let value = config.value.filter(|_| !config.is_sensitive).map(|value| value.to_string());
        (config.name.to_string(), ConfigValue { value, is_own: matches!(config.config_source, OF_TOPIC | OF_BROKER) })
    });
    Ok(configs.collect())
}

fn wire_resource(resource: &ConfigResource) -> (i8, StrBytes) {
    match resource {
        ConfigResource::Topic(topic) => (TOPIC, text(topic.as_str())),
        ConfigResource::Broker(broker) => (BROKER, text(&broker.to_string())),
    }
}

fn text(of: &str) -> StrBytes {
    StrBytes::from_string(of.to_owned())
}
