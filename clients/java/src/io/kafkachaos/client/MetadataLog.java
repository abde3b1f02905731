package io.kafkachaos.client;

import java.util.ArrayDeque;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;
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
    private static final int[] NO_CHANGES = {};

    private static final Map<String, MetadataLog> OF_CLIENTS = new ConcurrentHashMap<>();

    private final int client;
    private final Group group;
    private final Queue<Event> events = new ArrayDeque<>();
    /** Partition counts of all topics in the last snapshot that did fit; 0: a topic is not in it. */
    private final int[] counts;
    private long lost;

    /** Its kind, when, a node or a version, and in turns a topic and its partition count, where that has changed. */
    private static final class Event {
        final String kind;
        final long at;
        final int number;
        final int[] changes;

        Event(String kind, long at, int number, int[] changes) {
            this.kind = kind;
            this.at = at;
            this.number = number;
            this.changes = changes;
        }
    }

    private MetadataLog(Group group, int client) {
        this.group = group;
        this.client = client;
        this.counts = new int[group.settings.topics.size()];
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

    /** Writes events into a list, as far as the line has room; whether there are more. */
    synchronized boolean tell(Json json) {
        while (!events.isEmpty() && !json.isFull()) {
            Event event = events.remove();
            json.open().text(event.kind).number(client).number(event.at).number(event.number).open();
            for (int place = 0; place < event.changes.length; place += 2) {
                json.open().number(event.changes[place]).number(event.changes[place + 1]).close();
            }
            json.close().close();
        }
        return !events.isEmpty();
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
        add("sent", ((Node) node).id(), NO_CHANGES);
    }

    private void cutOff() {
        add("cut_off", 0, NO_CHANGES);
    }

    synchronized void updated(int version, Cluster cluster) {
        // What is lost with an event must be a change for the next one.
        add("updated", version, events.size() < EVENTS_MAX ? changes(cluster) : NO_CHANGES);
    }

    /** Topics that have another partition count than before, each with its count. */
    private int[] changes(Cluster cluster) {
        IntStream.Builder changes = IntStream.builder();
        for (int topic = 0; topic < counts.length; topic++) {
            Integer count = cluster.partitionCountForTopic(group.settings.topics.get(topic));
            int to = count == null ? 0 : count;
            if (counts[topic] != to) {
                counts[topic] = to;
                changes.add(topic).add(to);
            }
        }
        return changes.build().toArray();
    }

    /** It happens now; now is read where nobody tells, so that what happened before a moment is told after it. */
    private synchronized void add(String kind, int number, int[] changes) {
        if (events.size() < EVENTS_MAX) {
            events.add(new Event(kind, group.time.nowMicros(), number, changes));
        } else {
            lost++;
        }
    }
}
