//! Connection states per node, with their backoffs, timeouts and in-flight requests; and which node is the least loaded.
//!
//! Java's counterparts: `ClusterConnectionStates`, `InFlightRequests`, `NetworkClient.leastLoadedNode`. Not here: sockets (`net`), what the
//! requests mean (`client`).

use std::collections::VecDeque;
use std::time::Duration;

use kafka_protocol::protocol::Request;
use rand::{Rng, RngExt};
use rustc_hash::FxHashMap;

use crate::clock::Moment;
use crate::ids::{BrokerId, HostPort};
use crate::kafka::core::backoff::ExponentialBackoff;
use crate::kafka::core::config::ProducerConfig;
use crate::kafka::wire::versions::BrokerVersions;

/// One attempt to connect and the connection that comes of it. Never used twice, so that late news of an old connection are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionId(pub u64);

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionState {
    /// No connection.
    Disconnected,
    /// TCP (and TLS) is being set up.
    Connecting,
    /// ApiVersions is asked.
    CheckingApiVersions,
    /// Carries requests.
    Ready,
}

/// A request that waits for its answer, of kind `K`.
#[derive(Debug)]
pub struct InFlightRequest<K> {
    /// Matches the answer; answers come in order.
    pub correlation_id: i32,
    /// When it was handed over.
    pub sent_at: Moment,
    /// For how long the broker has asked for silence since; prolongs its timeout.
    pub throttled: Duration,
    /// What it is.
    pub kind: K,
}

/// A node's connection.
#[derive(Debug)]
pub struct Connection<K> {
    /// Its state.
    pub state: ConnectionState,
    /// The attempt in force.
    pub id: ConnectionId,
    /// Where it goes.
    pub address: HostPort,
    /// What the broker speaks; `Some` from `Ready` on.
    pub versions: Option<BrokerVersions>,
    /// Requests without an answer, oldest first.
    pub in_flight: VecDeque<InFlightRequest<K>>,
    /// Frames handed over and not yet written to the socket.
    pub unwritten: usize,
    /// Start of the last attempt, or the last disconnect.
    pub last_attempt: Moment,
    /// When the state was last entered or bytes last went either way.
    pub last_active: Moment,
    attempts: u32,
    failures: u32,
    reconnect_wait: Duration,
    setup_failures: u32,
    setup_timeout: Duration,
    throttled_until: Option<Moment>,
}

/// All connections of a client.
#[derive(Debug)]
pub struct Connections<K> {
    nodes: FxHashMap<BrokerId, Connection<K>>,
    next_id: u64,
    reconnect_backoff: ExponentialBackoff,
    setup_backoff: ExponentialBackoff,
    in_flight_max: usize,
}

/// An attempt to connect that the caller must make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectAttempt {
    /// Its id.
    pub id: ConnectionId,
    /// To which node.
    pub node: BrokerId,
    /// Where that is.
    pub address: HostPort,
    /// How many attempts were made to this node before: each takes the host's next address.
    pub attempt: u32,
}

/// The outcome of looking for a node to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeastLoaded {
    /// The node, if any can be asked, waited for or connected to.
    pub node: Option<BrokerId>,
    /// Whether any node has a ready connection, full or not.
    pub any_ready: bool,
}

impl<K> Connections<K> {
    /// No connections.
    #[must_use]
    pub fn new(config: &ProducerConfig) -> Self {
        Self {
            nodes: FxHashMap::default(),
            next_id: 0,
            reconnect_backoff: ExponentialBackoff::new(config.reconnect_backoff, config.reconnect_backoff_max),
            setup_backoff: ExponentialBackoff::new(config.setup_timeout, config.setup_timeout_max),
            in_flight_max: config.in_flight_max,
        }
    }

    /// A node's connection, if there ever was one.
    #[must_use]
    pub fn get(&self, node: BrokerId) -> Option<&Connection<K>> {
        self.nodes.get(&node)
    }

    /// The same, to change.
    pub fn get_mut(&mut self, node: BrokerId) -> Option<&mut Connection<K>> {
        self.nodes.get_mut(&node)
    }

    /// The same, if `id` is its attempt in force.
    pub fn current_mut(&mut self, node: BrokerId, id: ConnectionId) -> Option<&mut Connection<K>> {
        self.nodes.get_mut(&node).filter(|connection| connection.id == id && connection.state != ConnectionState::Disconnected)
    }

    /// All nodes with their connections.
    pub fn iter(&self) -> impl Iterator<Item = (BrokerId, &Connection<K>)> {
        self.nodes.iter().map(|(node, connection)| (*node, connection))
    }

    /// All requests that wait for their answers.
    pub fn in_flight_mut(&mut self) -> impl Iterator<Item = &mut InFlightRequest<K>> {
        self.nodes.values_mut().flat_map(|connection| &mut connection.in_flight)
    }

    /// Whether a request can be handed over now.
    #[must_use]
    pub fn can_send(&self, node: BrokerId, now: Moment) -> bool {
        self.nodes.get(&node).is_some_and(|connection| connection.is_ready(now) && connection.has_room(self.in_flight_max))
    }

    /// Whether an attempt to connect may begin now.
    #[must_use]
    pub fn can_connect(&self, node: BrokerId, now: Moment) -> bool {
        self.nodes.get(&node).is_none_or(|connection| {
            connection.state == ConnectionState::Disconnected && now >= connection.last_attempt + connection.reconnect_wait
        })
    }

    /// How long to wait before looking at a node again that cannot take a request: until its backoff or its throttling is over. `None`: an event
    /// will tell.
    #[must_use]
    pub fn poll_delay(&self, node: BrokerId, now: Moment) -> Option<Duration> {
        let Some(connection) = self.nodes.get(&node) else { return Some(Duration::ZERO) };
        match connection.state {
            ConnectionState::Disconnected => Some((connection.last_attempt + connection.reconnect_wait).since(now)),
            ConnectionState::Ready => connection.throttled_until.filter(|until| *until > now).map(|until| until.since(now)),
            _ => None,
        }
    }

    /// The newest version of this request that both sides speak.
    #[must_use]
    pub fn version_for<R: Request>(&self, node: BrokerId) -> Option<i16> {
        self.get(node)?.versions.as_ref()?.highest_common::<R>()
    }

    /// Begins an attempt.
    pub fn begin(&mut self, node: BrokerId, address: &HostPort, now: Moment, random: &mut impl Rng) -> ConnectAttempt {
        self.next_id += 1;
        let id = ConnectionId(self.next_id);
        let setup_backoff = self.setup_backoff;
        let connection = self.nodes.entry(node).or_insert_with(|| Connection::new(address.clone(), setup_backoff.wait(0, random)));
        if connection.address.host != address.host {
            // Another host under the same id is another node: nothing learnt of the old one applies.
            *connection = Connection::new(address.clone(), setup_backoff.wait(0, random));
        }
        connection.address = address.clone();
        connection.id = id;
        connection.state = ConnectionState::Connecting;
        connection.last_attempt = now;
        connection.last_active = now;
        let attempt = connection.attempts;
        connection.attempts = connection.attempts.wrapping_add(1);
        ConnectAttempt { id, node, address: address.clone(), attempt }
    }

    /// TCP (and TLS) is up.
    pub fn established(&mut self, node: BrokerId, now: Moment, random: &mut impl Rng) {
        let setup_timeout = self.setup_backoff.wait(0, random);
        if let Some(connection) = self.nodes.get_mut(&node) {
            connection.state = ConnectionState::CheckingApiVersions;
            connection.setup_failures = 0;
            connection.setup_timeout = setup_timeout;
            connection.last_active = now;
        }
    }

    /// ApiVersions was answered.
    pub fn ready(&mut self, node: BrokerId, versions: BrokerVersions, now: Moment) {
        if let Some(connection) = self.nodes.get_mut(&node) {
            connection.state = ConnectionState::Ready;
            connection.versions = Some(versions);
            connection.failures = 0;
            connection.reconnect_wait = Duration::ZERO;
            connection.last_active = now;
        }
    }

    /// The connection is gone, or was never made. Returns what was in flight on it, oldest first.
    pub fn disconnected(&mut self, node: BrokerId, now: Moment, random: &mut impl Rng) -> VecDeque<InFlightRequest<K>> {
        let Some(connection) = self.nodes.get_mut(&node) else { return VecDeque::new() };
        if connection.state == ConnectionState::Connecting {
            connection.setup_failures += 1;
            connection.setup_timeout = self.setup_backoff.wait(connection.setup_failures, random);
        } else {
            connection.setup_failures = 0;
            connection.setup_timeout = self.setup_backoff.wait(0, random);
        }
        connection.state = ConnectionState::Disconnected;
        connection.versions = None;
        connection.unwritten = 0;
        connection.last_attempt = now;
        connection.reconnect_wait = self.reconnect_backoff.wait(connection.failures, random);
        connection.failures += 1;
        std::mem::take(&mut connection.in_flight)
    }

    /// The broker asks for silence.
    pub fn throttle(&mut self, node: BrokerId, span: Duration, now: Moment) {
        if let Some(connection) = self.nodes.get_mut(&node) {
            // The end never moves back, and outlives a disconnect.
            connection.throttled_until = connection.throttled_until.max(Some(now + span));
            connection.in_flight.iter_mut().for_each(|request| request.throttled += span);
        }
    }

    /// Nodes whose connection has been in the making for longer than its setup timeout, and nodes whose oldest request has waited for longer
    /// than `request_timeout` (throttling prolongs it).
    pub fn overdue(&self, now: Moment, request_timeout: Duration) -> (Vec<BrokerId>, Vec<BrokerId>) {
        let nodes_where = |is_overdue: &dyn Fn(&Connection<K>) -> bool| {
            let mut nodes: Vec<_> = self.iter().filter(|(_, connection)| is_overdue(connection)).map(|(node, _)| node).collect();
            nodes.sort_unstable();
            nodes
        };
        let setup = nodes_where(&|connection| connection.setup_deadline().is_some_and(|deadline| now >= deadline));
        let requests = nodes_where(&|connection| connection.request_deadline(request_timeout).is_some_and(|deadline| now >= deadline));
        (setup, requests)
    }

    /// The earliest moment at which [`Connections::overdue`] or [`Connections::idle`] would name somebody.
    #[must_use]
    pub fn next_deadline(&self, request_timeout: Duration, idle_max: Option<Duration>) -> Option<Moment> {
        self.nodes
            .values()
            .flat_map(|connection| {
                [connection.setup_deadline(), connection.request_deadline(request_timeout), connection.idle_deadline(idle_max)]
            })
            .flatten()
            .min()
    }

    /// A node whose connection has carried nothing for `idle_max`, whether it is being made or waits for answers.
    #[must_use]
    pub fn idle(&self, now: Moment, idle_max: Option<Duration>) -> Option<BrokerId> {
        self.iter()
            .filter(|(_, connection)| connection.idle_deadline(idle_max).is_some_and(|deadline| now >= deadline))
            .min_by_key(|(node, connection)| (connection.last_active, *node))
            .map(|(node, _)| node)
    }

    /// Whether any of these nodes is in CONNECTING. Those that the snapshot does not name any more do not count, as in Java.
    #[must_use]
    pub fn is_any_connecting(&self, nodes: &[(BrokerId, HostPort)]) -> bool {
        let is_connecting = |node| self.nodes.get(node).is_some_and(|connection| connection.state == ConnectionState::Connecting);
        nodes.iter().any(|(node, _)| is_connecting(node))
    }

    /// The node to ask: the one with the fewest requests in flight that can take one now; else one that is being connected to; else the one
    /// whose last attempt is oldest.
    pub fn least_loaded(&self, nodes: &[(BrokerId, HostPort)], now: Moment, random: &mut impl Rng) -> LeastLoaded {
        let mut any_ready = false;
        let mut usable: Option<(usize, BrokerId)> = None;
        let mut connecting = None;
        let mut connectable: Option<(Option<Moment>, BrokerId)> = None;
        let offset = if nodes.is_empty() { 0 } else { random.random_range(0..nodes.len()) };
        for (node, _) in nodes.iter().cycle().skip(offset).take(nodes.len()) {
            let connection = self.nodes.get(node);
            any_ready |= connection.is_some_and(|connection| connection.is_ready(now));
            if self.can_send(*node, now) {
                let load = connection.map_or(0, |connection| connection.in_flight.len());
                if load == 0 {
                    return LeastLoaded { node: Some(*node), any_ready: true };
                }
                if usable.is_none_or(|(least, _)| load < least) {
                    usable = Some((load, *node));
                }
            } else if connection.is_some_and(Connection::is_being_set_up) {
                connecting = Some(*node);
            } else if self.can_connect(*node, now) {
                let last_attempt = connection.map(|connection| connection.last_attempt);
                if connectable.is_none_or(|(oldest, _)| last_attempt < oldest) {
                    connectable = Some((last_attempt, *node));
                }
            }
        }
        let node = usable.map(|(_, node)| node).or(connecting).or(connectable.map(|(_, node)| node));
        LeastLoaded { node, any_ready }
    }
}

impl<K> Connection<K> {
    fn new(address: HostPort, setup_timeout: Duration) -> Self {
        Self {
            state: ConnectionState::Disconnected,
            id: ConnectionId(0),
            address,
            versions: None,
            in_flight: VecDeque::new(),
            unwritten: 0,
            last_attempt: Moment(0),
            last_active: Moment(0),
            attempts: 0,
            failures: 0,
            reconnect_wait: Duration::ZERO,
            setup_failures: 0,
            setup_timeout,
            throttled_until: None,
        }
    }

    fn is_ready(&self, now: Moment) -> bool {
        self.state == ConnectionState::Ready && self.throttled_until.is_none_or(|until| now >= until)
    }

    fn is_being_set_up(&self) -> bool {
        matches!(self.state, ConnectionState::Connecting | ConnectionState::CheckingApiVersions)
    }

    fn has_room(&self, in_flight_max: usize) -> bool {
        self.unwritten == 0 && self.in_flight.len() < in_flight_max
    }

    fn setup_deadline(&self) -> Option<Moment> {
        // Java compares with a strict "greater than" in whole milliseconds.
        (self.state == ConnectionState::Connecting).then(|| self.last_attempt + self.setup_timeout + Duration::from_millis(1))
    }

    fn request_deadline(&self, request_timeout: Duration) -> Option<Moment> {
        let deadline = |request: &InFlightRequest<K>| request.sent_at + request_timeout + request.throttled + Duration::from_millis(1);
        self.in_flight.iter().map(deadline).min()
    }

    fn idle_deadline(&self, idle_max: Option<Duration>) -> Option<Moment> {
        let idle_max = idle_max?;
        (self.state != ConnectionState::Disconnected).then(|| self.last_active + idle_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    const NOW: Moment = Moment(1_000_000_000);

    struct Lab {
        connections: Connections<()>,
        random: ChaCha8Rng,
        nodes: Vec<(BrokerId, HostPort)>,
    }

    impl Lab {
        fn new(nodes: i32) -> Self {
            Self {
                connections: Connections::new(&ProducerConfig::default()),
                random: ChaCha8Rng::seed_from_u64(3),
                nodes: (1..=nodes).map(|id| (BrokerId(id), HostPort::new("127.0.0.1", 9000))).collect(),
            }
        }

        fn begin(&mut self, node: i32, now: Moment) {
            let address = self.nodes[0].1.clone();
            self.connections.begin(BrokerId(node), &address, now, &mut self.random);
        }

        fn make_ready(&mut self, node: i32, in_flight: usize) {
            self.begin(node, NOW);
            self.connections.established(BrokerId(node), NOW, &mut self.random);
            self.connections.ready(BrokerId(node), BrokerVersions::default(), NOW);
            let connection = self.connections.get_mut(BrokerId(node)).unwrap();
            for correlation_id in 0..in_flight {
                connection.in_flight.push_back(InFlightRequest {
                    correlation_id: i32::try_from(correlation_id).unwrap(),
                    sent_at: NOW,
                    throttled: Duration::ZERO,
                    kind: (),
                });
            }
        }

        fn fail(&mut self, node: i32, now: Moment) {
            self.begin(node, now);
            self.connections.disconnected(BrokerId(node), now, &mut self.random);
        }

        fn least_loaded(&mut self, now: Moment) -> LeastLoaded {
            self.connections.least_loaded(&self.nodes.clone(), now, &mut self.random)
        }
    }

    #[test]
    fn a_node_that_can_take_a_request_is_preferred_and_the_least_loaded_wins() {
        let mut lab = Lab::new(4);
        lab.make_ready(1, 3);
        lab.make_ready(2, 2);
        lab.begin(3, NOW);
        for _ in 0..20 {
            assert_eq!(lab.least_loaded(NOW), LeastLoaded { node: Some(BrokerId(2)), any_ready: true });
        }
    }

    #[test]
    fn a_full_connection_is_ready_but_cannot_be_asked() {
        let mut lab = Lab::new(1);
        lab.make_ready(1, 5);
        assert_eq!(lab.least_loaded(NOW), LeastLoaded { node: None, any_ready: true });
    }

    #[test]
    fn connecting_comes_before_connectable_and_the_oldest_attempt_is_repeated() {
        let mut lab = Lab::new(3);
        lab.begin(2, NOW);
        assert_eq!(lab.least_loaded(NOW).node, Some(BrokerId(2)));
        let mut lab = Lab::new(3);
        lab.fail(1, NOW);
        lab.fail(2, NOW + Duration::from_millis(5));
        lab.fail(3, NOW + Duration::from_millis(9));
        assert_eq!(lab.least_loaded(NOW + Duration::from_secs(2)).node, Some(BrokerId(1)));
        lab.nodes.push((BrokerId(4), HostPort::new("127.0.0.1", 9000)));
        assert_eq!(lab.least_loaded(NOW + Duration::from_secs(2)).node, Some(BrokerId(4)), "never tried is oldest");
        assert_eq!(lab.connections.least_loaded(&lab.nodes[..3], NOW, &mut lab.random), LeastLoaded { node: None, any_ready: false });
    }

    #[test]
    fn reconnect_backoff_grows_from_the_disconnect_and_ends_at_ready() {
        let mut lab = Lab::new(1);
        let mut now = NOW;
        for (least_ms, most_ms) in [(40, 59), (80, 119), (160, 239), (320, 479), (640, 959), (800, 1000), (800, 1000)] {
            lab.fail(1, now);
            assert!(!lab.connections.can_connect(BrokerId(1), now + Duration::from_millis(least_ms - 1)));
            now = now + Duration::from_millis(most_ms);
            assert!(lab.connections.can_connect(BrokerId(1), now));
        }
        lab.make_ready(1, 0);
        lab.connections.disconnected(BrokerId(1), now, &mut lab.random);
        assert!(lab.connections.can_connect(BrokerId(1), now + Duration::from_millis(59)));
    }

    #[test]
    fn setup_and_request_timeouts_are_strict() {
        let mut lab = Lab::new(2);
        lab.begin(1, NOW);
        let (early, late) = (NOW + Duration::from_millis(7_999), NOW + Duration::from_millis(12_001));
        assert_eq!(lab.connections.overdue(early, Duration::from_secs(30)), (vec![], vec![]));
        assert_eq!(lab.connections.overdue(late, Duration::from_secs(30)), (vec![BrokerId(1)], vec![]));
        lab.make_ready(2, 1);
        let exactly = NOW + Duration::from_secs(2);
        assert!(lab.connections.overdue(exactly, Duration::from_secs(2)).1.is_empty());
        assert_eq!(lab.connections.overdue(exactly + Duration::from_millis(1), Duration::from_secs(2)).1, [BrokerId(2)]);
        assert_eq!(lab.connections.next_deadline(Duration::from_secs(2), None), Some(exactly + Duration::from_millis(1)));
    }
}
