//! Kinds of clients, by their names in plans and results.

/// The client that makes a group's load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineKind {
    /// This project's own producer.
    Native,
    /// The C client.
    Librdkafka,
    /// Kafka's own client, `kafka-clients`.
    Java,
}

impl EngineKind {
    /// All kinds with their names in plans and results.
    pub const ALL: [(Self, &'static str); 3] = [(Self::Native, "native"), (Self::Librdkafka, "librdkafka"), (Self::Java, "java")];

    /// The kind's name in plans and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    /// The kind of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_kinds() {
        assert!(EngineKind::ALL.iter().all(|(kind, name)| EngineKind::of_name(name) == Some(*kind) && kind.name() == *name));
        assert_eq!(EngineKind::of_name("franz"), None);
    }
}
