package io.kafkachaos.client;

import java.util.ArrayDeque;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.clients.MetadataSnapshot;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;

/**
 * What a client says of its metadata in Kafka's own log: each request, each new snapshot, each request that a disconnect cut off. Read from
 * the log's arguments and not from its text; nothing is asked of the client, so nothing is disturbed.
 */
final class MetadataLog {
    /** Far more than a client can log between two reports; more than that is counted. */
    private static final int EVENTS_MAX = 10_000;
    private static final String CLIENT = "clientId=";

    private static final Map<String, MetadataLog> OF_CLIENTS = new ConcurrentHashMap<>();

    private final int client;
    private final Group group;
    private final Queue<Event> events = new ArrayDeque<>();
    private long lost;
    /** Partitions of each of the group's topics, as in the last snapshot. */
    private volatile int[] partitions;

    /** Writes itself: its kind, the client, when, a node or a version, partition counts; always so many columns. */
    private interface Event {
        void tell(Json json);
    }

    private MetadataLog(Group group, int client) {
        this.group = group;
        this.client = client;
        this.partitions = new int[group.settings.topics.size()];
    }

    /** The log of a client that is about to be made. */
    static MetadataLog of(Group group, int client) {
        return OF_CLIENTS.computeIfAbsent(group.clientId(client), id -> new MetadataLog(group, client));
    }

    /** Takes a line of Kafka's log: its format with the prefix that names the client, and its arguments. */
    static void line(String format, Object[] arguments) {
        boolean isRequest = format.endsWith("Sending metadata request {} to node {}");
        boolean isUpdate = format.endsWith("Updated cluster metadata updateVersion {} to {}");
        boolean isCut = !isRequest && !isUpdate && format.contains("Cancelled in-flight {} request");
        MetadataLog log = isRequest || isUpdate || isCut ? find(format) : null;
        if (log == null) {
            return;
        }
        if (isRequest) {
            log.requested(arguments[1]);
        } else if (isUpdate) {
            log.updated((Integer) arguments[0], ((MetadataSnapshot) arguments[1]).cluster());
        } else if ("METADATA".equals(String.valueOf(arguments[0]))) {
            log.cutOff();
        }
    }

    /** Whether the last snapshot holds a topic. */
    boolean knows(int topic) {
        return partitions[topic] > 0;
    }

    synchronized void tell(Json json) {
        for (Event event = events.poll(); event != null; event = events.poll()) {
            event.tell(json);
        }
    }

    /** Events that did not fit, since the last call. */
    synchronized long takeLost() {
        long taken = lost;
        lost = 0;
        return taken;
    }

    /** The client's log, by the prefix {@code [Producer clientId=NAME]}. */
    private static MetadataLog find(String format) {
        int from = format.indexOf(CLIENT);
        int to = from < 0 ? -1 : format.indexOf(']', from);
        if (to < 0) {
            return null;
        }
        int comma = format.indexOf(',', from);
        return OF_CLIENTS.get(format.substring(from + CLIENT.length(), comma > 0 && comma < to ? comma : to));
    }

    private void requested(Object node) {
        long at = group.time.nowMicros();
        int id = ((Node) node).id();
        add(json -> json.open().text("sent").number(client).number(at).number(id).open().close().close());
    }

    private void cutOff() {
        long at = group.time.nowMicros();
        add(json -> json.open().text("cut_off").number(client).number(at).number(0).open().close().close());
    }

    private void updated(int version, Cluster cluster) {
        long at = group.time.nowMicros();
        int[] counts = new int[partitions.length];
        for (int topic = 0; topic < counts.length; topic++) {
            Integer count = cluster.partitionCountForTopic(group.settings.topics.get(topic));
            counts[topic] = count == null ? 0 : count;
        }
        partitions = counts;
        add(json -> {
            json.open().text("updated").number(client).number(at).number(version).open();
            for (int count : counts) {
                json.number(count);
            }
            json.close().close();
        });
    }

    private synchronized void add(Event event) {
        if (events.size() < EVENTS_MAX) {
            events.add(event);
        } else {
            lost++;
        }
    }
}
