//! What every subject is asked to do: so many records of one size to one topic, as fast as it takes them.

use std::collections::BTreeMap;

use clap::Args;

/// Records between two looks at the clock, which is also how often librdkafka is polled; as in `chaos` itself.
pub(crate) const RECORDS_PER_LOOK: u64 = kafka_chaos::engine::RECORDS_PER_LOOK as u64;

/// The load, as arguments of a subject's process.
#[derive(Args, Clone, Debug)]
pub(crate) struct LoadArgs {
    /// Listeners of the cluster, comma-separated
    #[arg(long, value_name = "HOST:PORT,...")]
    pub(crate) bootstrap: String,
    /// The topic; must exist
    #[arg(long)]
    pub(crate) topic: String,
    /// How many records
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) records: u64,
    /// Size of a record's value
    #[arg(long, value_name = "BYTES", default_value_t = 100, value_parser = clap::value_parser!(u64).range(8..=1_000_000))]
    pub(crate) record_bytes: u64,
    /// A property of the client, by its own names; may be given again
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = property)]
    pub(crate) properties: Vec<(String, String)>,
}

impl LoadArgs {
    /// The properties by name; of a name that was given twice, the last.
    pub(crate) fn properties(&self) -> BTreeMap<String, String> {
        self.properties.iter().cloned().collect()
    }

    /// A record's value; the caller writes each record's number into it.
    pub(crate) fn value(&self) -> Vec<u8> {
        vec![b'x'; usize::try_from(self.record_bytes).unwrap_or(usize::MAX)]
    }
}

/// Makes a value this record's own.
pub(crate) fn number(value: &mut [u8], sequence: u64) {
    value[..8].copy_from_slice(&sequence.to_be_bytes());
}

fn property(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}
