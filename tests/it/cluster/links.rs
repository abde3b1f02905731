//! What can be done to links.

use std::time::Duration;

use kafka_chaos::clock::Clock;
use kafka_chaos::cluster::{Cluster, DockerCluster, Node};
use kafka_chaos::ids::{BrokerId, HostPort, TopicName};
use kafka_chaos::kafka::admin::{Admin, ClusterView, NewTopic, Placement};
use kafka_chaos::plan::model::{ClusterSpec, Layout, LinkNeeds};

use super::down;
use crate::support::{self, KAFKA, cluster_spec, run_id, up_options};

/// Cut off from the controller for so long, a broker is fenced.
const SESSION_MS: &str = "3000";

/// One cluster for all: starting it takes longest.
#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_cut_off_from_the_controller_believes_its_old_view() {
    let Some(_guard) = support::brokers().await else { return };
    let mut spec = ClusterSpec {
        links: LinkNeeds { nodes: true, clients: true },
        ..cluster_spec(KAFKA, Layout::Dedicated { brokers: 3, controllers: 1 })
    };
    spec.config.insert("broker.session.timeout.ms".to_owned(), SESSION_MS.to_owned());
    let cluster = DockerCluster::up(&spec, &run_id("links"), &up_options()).await.unwrap();
    let admin = Admin::new(cluster.bootstrap(), "test-admin", Clock::real());
    let placement = Placement::Assigned(vec![vec![BrokerId(2), BrokerId(1), BrokerId(3)]]);
    admin.create_topics(&[NewTopic { name: "orders".into(), placement, config: [].into() }]).await.unwrap();
    cluster.ready(&up_options()).await.unwrap();

    let (cut_off, controller, other) = (BrokerId(2), BrokerId(4), BrokerId(1));
    assert_eq!(cluster.links_cut(cut_off).await.unwrap(), []);
    cluster.cut_links(cut_off, &[controller]).await.unwrap();
    assert_eq!(cluster.links_cut(cut_off).await.unwrap(), [controller]);
    assert_eq!(cluster.links_cut(controller).await.unwrap(), [], "the other direction is whole");

    let orders = [TopicName::from("orders")];
    let of_other = view_until(&admin, listener(cluster.nodes(), other), &orders, |view| !view.lists(cut_off)).await;
    assert_ne!(leader(&of_other), Some(cut_off), "others have it fenced");
    let own = admin.metadata_of(&listener(cluster.nodes(), cut_off), Some(&orders)).await.unwrap();
    assert_eq!((own.brokers.len(), leader(&own)), (3, Some(cut_off)), "it has heard nothing");
    assert!(own.topics[0].partitions[0].is_full());

    cluster.mend_links(cut_off, &[controller]).await.unwrap();
    cluster.mend_links(cut_off, &[controller]).await.unwrap();
    assert_eq!(cluster.links_cut(cut_off).await.unwrap(), []);
    view_until(&admin, listener(cluster.nodes(), other), &orders, |view| view.lists(cut_off)).await;
    down(&cluster).await;
}

fn listener(nodes: &[Node], id: BrokerId) -> HostPort {
    nodes.iter().find(|node| node.id == id).unwrap().client_listener.clone().unwrap()
}

fn leader(view: &ClusterView) -> Option<BrokerId> {
    view.topics[0].partitions[0].leader
}

/// One broker's view, once it is as `is_so` wants it.
async fn view_until(admin: &Admin, broker: HostPort, topics: &[TopicName], is_so: impl Fn(&ClusterView) -> bool) -> ClusterView {
    for _ in 0..400 {
        if let Ok(view) = admin.metadata_of(&broker, Some(topics)).await
            && is_so(&view)
        {
            return view;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("not within 20 s");
}
