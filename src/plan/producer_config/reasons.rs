//! Why the native producer does not follow some of Java's properties.

/// Why a property of Java's has no effect on the native producer: the end of a sentence that begins with its name.
#[must_use]
pub fn reason(name: &str) -> &'static str {
    match name {
        "client.dns.lookup" => "takes a host's next address at each attempt, and looks up no canonical names",
        "compression.lz4.level" => "has only lz4's fast compressor, which Java uses at level 9, its default",
        "config.providers" | "interceptor.classes" | "partitioner.class" => "cannot load Java classes",
        "enable.metrics.push" => "sends no metrics of its own to brokers (KIP-714)",
        _ if name.starts_with("metric") => "keeps no Kafka metrics: what it does is in the run's facts",
        _ if name.starts_with("sasl.") => "logs in as `[cluster.security]` says",
        _ if name.starts_with("ssl.") || name.starts_with("security.") => "secures connections as `[cluster.security]` says",
        _ if name.starts_with("transaction") => "knows no transactions",
        _ => "is not built for it yet",
    }
}
