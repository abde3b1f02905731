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
    private static final int[] NO_COUNTS = {};

    private static final Map<String, MetadataLog> OF_CLIENTS = new ConcurrentHashMap<>();

    private final int client;
    private final Group group;
    private final Queue<Event> events = new ArrayDeque<>();
    private long lost;

    /** Its kind, when, a node or a version, partition counts. */
    private static final class Event {
        final String kind;
        final long at;
        final int number;
        final int[] counts;

        Event(String kind, long at, int number, int[] counts) {
            this.kind = kind;
            this.at = at;
            this.number = number;
            this.counts = counts;
        }
    }

    private MetadataLog(Group group, int client) {
        this.group = group;
        this.client = client;
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

    synchronized void tell(Json json) {
        for (Event event = events.poll(); event != null; event = events.poll()) {
            json.open().text(event.kind).number(client).number(event.at).number(event.number).open();
            for (int count : event.counts) {
                json.number(count);
            }
            json.close().close();
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
        add("sent", ((Node) node).id(), NO_COUNTS);
    }

    private void cutOff() {
        add("cut_off", 0, NO_COUNTS);
    }

    private void updated(int version, Cluster cluster) {
        int[] counts = new int[group.settings.topics.size()];
        for (int topic = 0; topic < counts.length; topic++) {
            Integer count = cluster.partitionCountForTopic(group.settings.topics.get(topic));
            counts[topic] = count == null ? 0 : count;
        }
        add("updated", version, counts);
    }

    /** It happens now; now is read where nobody tells, so that what happened before a moment is told after it. */
    private synchronized void add(String kind, int number, int[] counts) {
        if (events.size() < EVENTS_MAX) {
            events.add(new Event(kind, group.time.nowMicros(), number, counts));
        } else {
            lost++;
        }
    }
}
