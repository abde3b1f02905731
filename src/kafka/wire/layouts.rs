//! The fields of every response that this client reads, by version, as Kafka's message definitions (4.3.0) give them.
//!
//! Only what the walk in `shape` needs: widths, strings, arrays. Tests generate frames from these tables and compare with the codec crate.

use kafka_protocol::messages::ApiKey;

use crate::kafka::wire::shape::Kind::{Array, Bytes, Fixed, Optional, Struct, Text};
use crate::kafka::wire::shape::{Field, Layout, since, tagged, within};

/// The layout of the response to an API; `None`: this client does not ask for it.
pub(super) fn layout_of(api: ApiKey) -> Option<Layout> {
    let (flexible_since, fields) = match api {
        ApiKey::ApiVersions => (3, API_VERSIONS),
        ApiKey::Metadata => (9, METADATA),
        ApiKey::Produce => (9, PRODUCE),
        ApiKey::InitProducerId => (2, INIT_PRODUCER_ID),
        ApiKey::CreateTopics => (5, CREATE_TOPICS),
        ApiKey::DeleteTopics => (4, DELETE_TOPICS),
        ApiKey::CreatePartitions => (2, CREATE_PARTITIONS),
        ApiKey::DescribeCluster => (0, DESCRIBE_CLUSTER),
        ApiKey::DescribeQuorum => (0, DESCRIBE_QUORUM),
        ApiKey::ListOffsets => (6, LIST_OFFSETS),
        ApiKey::DescribeTopicPartitions => (0, DESCRIBE_TOPIC_PARTITIONS),
        ApiKey::ElectLeaders => (2, ELECT_LEADERS),
        ApiKey::AlterPartitionReassignments => (0, ALTER_PARTITION_REASSIGNMENTS),
        ApiKey::ListPartitionReassignments => (0, LIST_PARTITION_REASSIGNMENTS),
        ApiKey::DescribeConfigs => (4, DESCRIBE_CONFIGS),
        ApiKey::IncrementalAlterConfigs => (1, INCREMENTAL_ALTER_CONFIGS),
        ApiKey::Fetch => (12, FETCH),
        ApiKey::FetchSnapshot => (0, FETCH_SNAPSHOT),
        ApiKey::AlterUserScramCredentials => (0, ALTER_USER_SCRAM_CREDENTIALS),
        ApiKey::SaslHandshake => (i16::MAX, SASL_HANDSHAKE),
        ApiKey::SaslAuthenticate => (2, SASL_AUTHENTICATE),
        _ => return None,
    };
    Some(Layout { flexible_since, fields })
}

const USER_SCRAM_RESULTS: &[Field] = &[
    since(0, Text),     // user
    since(0, Fixed(2)), // error code
    since(0, Text),     // error message
];

const ALTER_USER_SCRAM_CREDENTIALS: &[Field] = &[
    since(0, Fixed(4)),                           // throttle time ms
    since(0, Array(&Struct(USER_SCRAM_RESULTS))), // results
];

const SASL_HANDSHAKE: &[Field] = &[
    since(0, Fixed(2)),     // error code
    since(0, Array(&Text)), // mechanisms
];

const SASL_AUTHENTICATE: &[Field] = &[
    since(0, Fixed(2)), // error code
    since(0, Text),     // error message
    since(0, Bytes),    // auth bytes
    since(1, Fixed(8)), // session lifetime ms
];

const API_VERSIONS_API_KEYS: &[Field] = &[
    since(0, Fixed(6)), // api key, min version, max version
];

const API_VERSIONS_SUPPORTED_FEATURES: &[Field] = &[
    since(3, Text),     // name
    since(3, Fixed(4)), // min version, max version
];

const API_VERSIONS_FINALIZED_FEATURES: &[Field] = &[
    since(3, Text),     // name
    since(3, Fixed(4)), // max version level, min version level
];

const API_VERSIONS: &[Field] = &[
    since(0, Fixed(2)),                                            // error code
    since(0, Array(&Struct(API_VERSIONS_API_KEYS))),               // api keys
    since(1, Fixed(4)),                                            // throttle time ms
    tagged(0, 3, Array(&Struct(API_VERSIONS_SUPPORTED_FEATURES))), // supported features
    tagged(1, 3, Fixed(8)),                                        // finalized features epoch
    tagged(2, 3, Array(&Struct(API_VERSIONS_FINALIZED_FEATURES))), // finalized features
    tagged(3, 3, Fixed(1)),                                        // zk migration ready
];

const METADATA_BROKERS: &[Field] = &[
    since(0, Fixed(4)), // node id
    since(0, Text),     // host
    since(0, Fixed(4)), // port
    since(1, Text),     // rack
];

const METADATA_PARTITIONS: &[Field] = &[
    since(0, Fixed(10)),        // error code, partition index, leader id
    since(7, Fixed(4)),         // leader epoch
    since(0, Array(&Fixed(4))), // replica nodes
    since(0, Array(&Fixed(4))), // isr nodes
    since(5, Array(&Fixed(4))), // offline replicas
];

const METADATA_TOPICS: &[Field] = &[
    since(0, Fixed(2)),                            // error code
    since(0, Text),                                // name
    since(10, Fixed(16)),                          // topic id
    since(1, Fixed(1)),                            // is internal
    since(0, Array(&Struct(METADATA_PARTITIONS))), // partitions
    since(8, Fixed(4)),                            // topic authorized operations
];

const METADATA: &[Field] = &[
    since(3, Fixed(4)),                         // throttle time ms
    since(0, Array(&Struct(METADATA_BROKERS))), // brokers
    since(2, Text),                             // cluster id
    since(1, Fixed(4)),                         // controller id
    since(0, Array(&Struct(METADATA_TOPICS))),  // topics
    within(8, 10, Fixed(4)),                    // cluster authorized operations
    since(13, Fixed(2)),                        // error code
];

const PRODUCE_RECORD_ERRORS: &[Field] = &[
    since(8, Fixed(4)), // batch index
    since(8, Text),     // batch index error message
];

const PRODUCE_CURRENT_LEADER: &[Field] = &[
    since(10, Fixed(8)), // leader id, leader epoch
];

const PRODUCE_PARTITIONS: &[Field] = &[
    since(0, Fixed(14)),                             // index, error code, base offset
    since(2, Fixed(8)),                              // log append time ms
    since(5, Fixed(8)),                              // log start offset
    since(8, Array(&Struct(PRODUCE_RECORD_ERRORS))), // record errors
    since(8, Text),                                  // error message
    tagged(0, 10, Struct(PRODUCE_CURRENT_LEADER)),   // current leader
];

const PRODUCE_TOPICS: &[Field] = &[
    within(0, 12, Text),                          // name
    since(13, Fixed(16)),                         // topic id
    since(0, Array(&Struct(PRODUCE_PARTITIONS))), // partition responses
];

const PRODUCE_NODE_ENDPOINTS: &[Field] = &[
    since(10, Fixed(4)), // node id
    since(10, Text),     // host
    since(10, Fixed(4)), // port
    since(10, Text),     // rack
];

const PRODUCE: &[Field] = &[
    since(0, Array(&Struct(PRODUCE_TOPICS))),              // responses
    since(1, Fixed(4)),                                    // throttle time ms
    tagged(0, 10, Array(&Struct(PRODUCE_NODE_ENDPOINTS))), // node endpoints
];

const INIT_PRODUCER_ID: &[Field] = &[
    since(0, Fixed(16)), // throttle time ms, error code, producer id, producer epoch
    since(6, Fixed(10)), // ongoing txn producer id, ongoing txn producer epoch
];

const CREATE_TOPICS_CONFIGS: &[Field] = &[
    since(5, Text),     // name
    since(5, Text),     // value
    since(5, Fixed(3)), // read only, config source, is sensitive
];

const CREATE_TOPICS_RESULTS: &[Field] = &[
    since(0, Text),                                  // name
    since(7, Fixed(16)),                             // topic id
    since(0, Fixed(2)),                              // error code
    since(1, Text),                                  // error message
    tagged(0, 5, Fixed(2)),                          // topic config error code
    since(5, Fixed(6)),                              // num partitions, replication factor
    since(5, Array(&Struct(CREATE_TOPICS_CONFIGS))), // configs
];

const CREATE_TOPICS: &[Field] = &[
    since(2, Fixed(4)),                              // throttle time ms
    since(0, Array(&Struct(CREATE_TOPICS_RESULTS))), // topics
];

const DELETE_TOPICS_RESULTS: &[Field] = &[
    since(0, Text),      // name
    since(6, Fixed(16)), // topic id
    since(0, Fixed(2)),  // error code
    since(5, Text),      // error message
];

const DELETE_TOPICS: &[Field] = &[
    since(1, Fixed(4)),                              // throttle time ms
    since(0, Array(&Struct(DELETE_TOPICS_RESULTS))), // responses
];

const CREATE_PARTITIONS_RESULTS: &[Field] = &[
    since(0, Text),     // name
    since(0, Fixed(2)), // error code
    since(0, Text),     // error message
];

const CREATE_PARTITIONS: &[Field] = &[
    since(0, Fixed(4)),                                  // throttle time ms
    since(0, Array(&Struct(CREATE_PARTITIONS_RESULTS))), // results
];

const DESCRIBE_CLUSTER_BROKERS: &[Field] = &[
    since(0, Fixed(4)), // broker id
    since(0, Text),     // host
    since(0, Fixed(4)), // port
    since(0, Text),     // rack
    since(2, Fixed(1)), // is fenced
];

const DESCRIBE_CLUSTER: &[Field] = &[
    since(0, Fixed(6)),                                 // throttle time ms, error code
    since(0, Text),                                     // error message
    since(1, Fixed(1)),                                 // endpoint type
    since(0, Text),                                     // cluster id
    since(0, Fixed(4)),                                 // controller id
    since(0, Array(&Struct(DESCRIBE_CLUSTER_BROKERS))), // brokers
    since(0, Fixed(4)),                                 // cluster authorized operations
];

const QUORUM_REPLICAS: &[Field] = &[
    since(0, Fixed(4)),  // replica id
    since(2, Fixed(16)), // replica directory id
    since(0, Fixed(8)),  // log end offset
    since(1, Fixed(16)), // last fetch timestamp, last caught up timestamp
];

const QUORUM_PARTITIONS: &[Field] = &[
    since(0, Fixed(6)),                        // partition index, error code
    since(2, Text),                            // error message
    since(0, Fixed(16)),                       // leader id, leader epoch, high watermark
    since(0, Array(&Struct(QUORUM_REPLICAS))), // current voters
    since(0, Array(&Struct(QUORUM_REPLICAS))), // observers
];

const QUORUM_TOPICS: &[Field] = &[
    since(0, Text),                              // topic name
    since(0, Array(&Struct(QUORUM_PARTITIONS))), // partitions
];

const QUORUM_LISTENERS: &[Field] = &[
    since(2, Text),     // name
    since(2, Text),     // host
    since(2, Fixed(2)), // port
];

const QUORUM_NODES: &[Field] = &[
    since(2, Fixed(4)),                         // node id
    since(2, Array(&Struct(QUORUM_LISTENERS))), // listeners
];

const DESCRIBE_QUORUM: &[Field] = &[
    since(0, Fixed(2)),                      // error code
    since(2, Text),                          // error message
    since(0, Array(&Struct(QUORUM_TOPICS))), // topics
    since(2, Array(&Struct(QUORUM_NODES))),  // nodes
];

const LIST_OFFSETS_PARTITIONS: &[Field] = &[
    since(0, Fixed(6)),  // partition index, error code
    since(1, Fixed(16)), // timestamp, offset
    since(4, Fixed(4)),  // leader epoch
];

const LIST_OFFSETS_TOPICS: &[Field] = &[
    since(0, Text),                                    // name
    since(0, Array(&Struct(LIST_OFFSETS_PARTITIONS))), // partitions
];

const LIST_OFFSETS: &[Field] = &[
    since(2, Fixed(4)),                            // throttle time ms
    since(0, Array(&Struct(LIST_OFFSETS_TOPICS))), // topics
];

const TOPIC_PARTITIONS: &[Field] = &[
    since(0, Fixed(14)),        // error code, partition index, leader id, leader epoch
    since(0, Array(&Fixed(4))), // replica nodes
    since(0, Array(&Fixed(4))), // isr nodes
    since(0, Array(&Fixed(4))), // eligible leader replicas
    since(0, Array(&Fixed(4))), // last known elr
    since(0, Array(&Fixed(4))), // offline replicas
];

const TOPIC_PARTITIONS_TOPICS: &[Field] = &[
    since(0, Fixed(2)),                         // error code
    since(0, Text),                             // name
    since(0, Fixed(17)),                        // topic id, is internal
    since(0, Array(&Struct(TOPIC_PARTITIONS))), // partitions
    since(0, Fixed(4)),                         // topic authorized operations
];

const TOPIC_PARTITIONS_CURSOR: &[Field] = &[
    since(0, Text),     // topic name
    since(0, Fixed(4)), // partition index
];

const DESCRIBE_TOPIC_PARTITIONS: &[Field] = &[
    since(0, Fixed(4)),                                // throttle time ms
    since(0, Array(&Struct(TOPIC_PARTITIONS_TOPICS))), // topics
    since(0, Optional(TOPIC_PARTITIONS_CURSOR)),       // next cursor
];

const EPOCH_END_OFFSET: &[Field] = &[
    since(12, Fixed(12)), // epoch, end offset
];

const FETCH_CURRENT_LEADER: &[Field] = &[
    since(12, Fixed(8)), // leader id, leader epoch
];

const FETCH_SNAPSHOT_ID: &[Field] = &[
    since(0, Fixed(12)), // end offset, epoch
];

const FETCH_ABORTED_TRANSACTIONS: &[Field] = &[
    since(4, Fixed(16)), // producer id, first offset
];

const FETCH_PARTITIONS: &[Field] = &[
    since(0, Fixed(14)),                                  // partition index, error code, high watermark
    since(4, Fixed(8)),                                   // last stable offset
    since(5, Fixed(8)),                                   // log start offset
    tagged(0, 12, Struct(EPOCH_END_OFFSET)),              // diverging epoch
    tagged(1, 12, Struct(FETCH_CURRENT_LEADER)),          // current leader
    tagged(2, 12, Struct(FETCH_SNAPSHOT_ID)),             // snapshot id
    since(4, Array(&Struct(FETCH_ABORTED_TRANSACTIONS))), // aborted transactions
    since(11, Fixed(4)),                                  // preferred read replica
    since(0, Bytes),                                      // records
];

const FETCH_TOPICS: &[Field] = &[
    within(0, 12, Text),                        // topic
    since(13, Fixed(16)),                       // topic id
    since(0, Array(&Struct(FETCH_PARTITIONS))), // partitions
];

const FETCH_NODE_ENDPOINTS: &[Field] = &[
    since(16, Fixed(4)), // node id
    since(16, Text),     // host
    since(16, Fixed(4)), // port
    since(16, Text),     // rack
];

const FETCH: &[Field] = &[
    since(1, Fixed(4)),                                  // throttle time ms
    since(7, Fixed(6)),                                  // error code, session id
    since(0, Array(&Struct(FETCH_TOPICS))),              // responses
    tagged(0, 16, Array(&Struct(FETCH_NODE_ENDPOINTS))), // node endpoints
];

const SNAPSHOT_CURRENT_LEADER: &[Field] = &[
    since(0, Fixed(8)), // leader id, leader epoch
];

const SNAPSHOT_PARTITIONS: &[Field] = &[
    since(0, Fixed(6)),                            // index, error code
    since(0, Struct(FETCH_SNAPSHOT_ID)),           // snapshot id
    tagged(0, 0, Struct(SNAPSHOT_CURRENT_LEADER)), // current leader
    since(0, Fixed(16)),                           // size, position
    since(0, Bytes),                               // unaligned records
];

const SNAPSHOT_TOPICS: &[Field] = &[
    since(0, Text),                                // name
    since(0, Array(&Struct(SNAPSHOT_PARTITIONS))), // partitions
];

const SNAPSHOT_NODE_ENDPOINTS: &[Field] = &[
    since(1, Fixed(4)), // node id
    since(1, Text),     // host
    since(1, Fixed(2)), // port
];

const FETCH_SNAPSHOT: &[Field] = &[
    since(0, Fixed(6)),                                    // throttle time ms, error code
    since(0, Array(&Struct(SNAPSHOT_TOPICS))),             // topics
    tagged(0, 1, Array(&Struct(SNAPSHOT_NODE_ENDPOINTS))), // node endpoints
];

const PARTITION_RESULTS: &[Field] = &[
    since(0, Fixed(6)), // partition, error code
    since(0, Text),     // error message
];

const PARTITION_RESULTS_OF_TOPICS: &[Field] = &[
    since(0, Text),                              // topic
    since(0, Array(&Struct(PARTITION_RESULTS))), // partitions
];

const ELECT_LEADERS: &[Field] = &[
    since(0, Fixed(4)),                                    // throttle time ms
    since(1, Fixed(2)),                                    // error code
    since(0, Array(&Struct(PARTITION_RESULTS_OF_TOPICS))), // replica election results
];

const ALTER_PARTITION_REASSIGNMENTS: &[Field] = &[
    since(0, Fixed(4)),                                    // throttle time ms
    since(1, Fixed(1)),                                    // allow replication factor change
    since(0, Fixed(2)),                                    // error code
    since(0, Text),                                        // error message
    since(0, Array(&Struct(PARTITION_RESULTS_OF_TOPICS))), // responses
];

const ONGOING_PARTITIONS: &[Field] = &[
    since(0, Fixed(4)),         // partition index
    since(0, Array(&Fixed(4))), // replicas
    since(0, Array(&Fixed(4))), // adding replicas
    since(0, Array(&Fixed(4))), // removing replicas
];

const ONGOING_TOPICS: &[Field] = &[
    since(0, Text),                               // name
    since(0, Array(&Struct(ONGOING_PARTITIONS))), // partitions
];

const LIST_PARTITION_REASSIGNMENTS: &[Field] = &[
    since(0, Fixed(6)),                       // throttle time ms, error code
    since(0, Text),                           // error message
    since(0, Array(&Struct(ONGOING_TOPICS))), // topics
];

const CONFIG_SYNONYMS: &[Field] = &[
    since(1, Text),     // name
    since(1, Text),     // value
    since(1, Fixed(1)), // source
];

const CONFIG_ENTRIES: &[Field] = &[
    since(0, Text),                            // name
    since(0, Text),                            // value
    since(0, Fixed(3)),                        // read only, config source (is default before 1), is sensitive
    since(1, Array(&Struct(CONFIG_SYNONYMS))), // synonyms
    since(3, Fixed(1)),                        // config type
    since(3, Text),                            // documentation
];

const CONFIG_RESULTS: &[Field] = &[
    since(0, Fixed(2)),                       // error code
    since(0, Text),                           // error message
    since(0, Fixed(1)),                       // resource type
    since(0, Text),                           // resource name
    since(0, Array(&Struct(CONFIG_ENTRIES))), // configs
];

const DESCRIBE_CONFIGS: &[Field] = &[
    since(0, Fixed(4)),                       // throttle time ms
    since(0, Array(&Struct(CONFIG_RESULTS))), // results
];

const ALTERED_RESOURCES: &[Field] = &[
    since(0, Fixed(2)), // error code
    since(0, Text),     // error message
    since(0, Fixed(1)), // resource type
    since(0, Text),     // resource name
];

const INCREMENTAL_ALTER_CONFIGS: &[Field] = &[
    since(0, Fixed(4)),                          // throttle time ms
    since(0, Array(&Struct(ALTERED_RESOURCES))), // responses
];
