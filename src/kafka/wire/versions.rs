//! Which versions of each API a broker speaks, and which one is used with it: the highest that both know.

use kafka_protocol::messages::ApiVersionsResponse;
use kafka_protocol::protocol::{Message, Request};

/// One broker's answer to ApiVersions, reduced to (key, lowest, highest), sorted by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BrokerVersions(Vec<(i16, i16, i16)>);

impl BrokerVersions {
    /// Takes over what a broker listed.
    #[must_use]
    pub fn from_response(response: &ApiVersionsResponse) -> Self {
        let mut ranges: Vec<_> = response.api_keys.iter().map(|api| (api.api_key, api.min_version, api.max_version)).collect();
        ranges.sort_unstable();
        Self(ranges)
    }

    /// The highest version of request `R` that the broker and this client share, `None` if there is none.
    #[must_use]
    pub fn highest_common<R: Request>(&self) -> Option<i16> {
        let (_, lowest, highest) = self.range(R::KEY)?;
        let version = highest.min(<R as Message>::VERSIONS.max);
        (version >= lowest && version >= <R as Message>::VERSIONS.min).then_some(version)
    }

    /// The broker's own range for an API key.
    #[must_use]
    pub fn range(&self, key: i16) -> Option<(i16, i16, i16)> {
        self.0.binary_search_by_key(&key, |range| range.0).ok().map(|index| self.0[index])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kafka_protocol::messages::api_versions_response::ApiVersion;
    use kafka_protocol::messages::{MetadataRequest, ProduceRequest};

    fn broker(ranges: &[(i16, i16, i16)]) -> BrokerVersions {
        let keys = ranges
            .iter()
            .map(|(key, min, max)| ApiVersion::default().with_api_key(*key).with_min_version(*min).with_max_version(*max))
            .collect();
        BrokerVersions::from_response(&ApiVersionsResponse::default().with_api_keys(keys))
    }

    #[test]
    fn the_highest_common_version_is_chosen() {
        let rows = [
            (vec![(3, 0, 13), (0, 3, 13)], Some(13), Some(13)),
            (vec![(3, 0, 99), (0, 0, 11)], Some(13), Some(11)),
            (vec![(3, 14, 20)], None, None),
            (vec![(0, 0, 2)], None, None),
        ];
        for (ranges, metadata, produce) in rows {
            let versions = broker(&ranges);
            assert_eq!(versions.highest_common::<MetadataRequest>(), metadata, "{ranges:?}");
            assert_eq!(versions.highest_common::<ProduceRequest>(), produce, "{ranges:?}");
        }
    }
}
