package io.kafkachaos.client;

import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** One {@link KafkaProducer}, made when the first of its senders has a record due. */
final class Client {
    /** In place of a time: the client says nothing of it. */
    static final long UNKNOWN = -1;
    private static final long NOT_BEGUN = Long.MIN_VALUE;
    private static final String METADATA_WAIT = "metadata-wait-time-ns-total";
    private static final String MEMORY_WAIT = "bufferpool-wait-time-ns-total";
    /** After one that could not be made: no other try for so long. */
    private static final long PAUSE_MICROS = TimeUnit.SECONDS.toMicros(1);

    final int index;
    final Outcomes outcomes;
    final MetadataLog metadata;
    private final Group group;
    private volatile KafkaProducer<byte[], byte[]> producer;
    /** When it was first tried to make it. Set before anything of the client can happen. */
    private volatile long madeAt = NOT_BEGUN;
    /** Why it could not be made, and when to try again. */
    private KafkaException refusal;
    private long tryAgainAt;
    /** Of the reporter alone. */
    private boolean isMadeTold;
    private Metric metadataWait;
    private Metric memoryWait;
    private Metric metadataAge;
    private Metric freeMemory;

    Client(Group group, int index) {
        this.group = group;
        this.index = index;
        this.outcomes = new Outcomes(group.time);
        this.metadata = MetadataLog.of(group, index);
    }

    /** A producer with the group's configuration. */
    static KafkaProducer<byte[], byte[]> make(Settings settings, String clientId, Properties more) {
        Properties config = new Properties();
        config.putAll(settings.config);
        config.putAll(more);
        config.setProperty("client.id", clientId);
        return new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer());
    }

    void send(ProducerRecord<byte[], byte[]> record, Delivery delivery) {
        KafkaProducer<byte[], byte[]> made = producer;
        if (made == null) {
            made = makeOnce();
        }
        made.send(record, delivery);
    }

    /** Makes it, unless it is there. One that cannot be made (no address resolves) refuses its records, and is tried again after a while. */
    private synchronized KafkaProducer<byte[], byte[]> makeOnce() {
        if (producer == null) {
            long now = group.time.nowMicros();
            if (refusal != null && now < tryAgainAt) {
                throw refusal;
            }
            if (madeAt == NOT_BEGUN) {
                madeAt = now;
            }
            try {
                KafkaProducer<byte[], byte[]> made = make(group.settings, group.clientId(index), new Properties());
                metadataWait = metric(made, METADATA_WAIT);
                memoryWait = metric(made, MEMORY_WAIT);
                metadataAge = metric(made, "metadata-age");
                freeMemory = metric(made, "buffer-available-bytes");
                producer = made;
            } catch (KafkaException refused) {
                // At the top it only says that it could not be made.
                refusal = refused.getCause() instanceof KafkaException ? (KafkaException) refused.getCause() : refused;
                tryAgainAt = group.time.nowMicros() + PAUSE_MICROS;
                throw refusal;
            }
        }
        return producer;
    }

    boolean isMade() {
        return producer != null;
    }

    /** Whether producers of this version tell how long sends have waited for metadata, and for memory. */
    static boolean[] tellsWaits(KafkaProducer<byte[], byte[]> producer) {
        return new boolean[] {metric(producer, METADATA_WAIT) != null, metric(producer, MEMORY_WAIT) != null};
    }

    private static Metric metric(KafkaProducer<byte[], byte[]> producer, String name) {
        return producer.metrics().values().stream()
            .filter(metric -> metric.metricName().name().equals(name) && metric.metricName().group().equals("producer-metrics"))
            .findFirst()
            .orElse(null);
    }

    /** Time that all sends of this client together have waited for metadata, or {@link #UNKNOWN}. */
    long metadataWaitMicros() {
        return micros(metadataWait);
    }

    /** The same for memory. */
    long memoryWaitMicros() {
        return micros(memoryWait);
    }

    private static long micros(Metric nanos) {
        Double value = value(nanos);
        return value == null ? UNKNOWN : value.longValue() / 1_000;
    }

    private static Double value(Metric metric) {
        Object value = metric == null ? null : metric.metricValue();
        return value instanceof Double && !((Double) value).isNaN() ? (Double) value : null;
    }

    /** Writes when the client was made, or first tried to be, once. */
    void tellMade(Json json) {
        long at = madeAt;
        if (at != NOT_BEGUN && !isMadeTold) {
            json.open().number(index).number(at).close();
            isMadeTold = true;
        }
    }

    /** Writes the client's present figures: age of its metadata in ms, free bytes of its memory. */
    void tellFigures(Json json) {
        if (producer == null) {
            return;
        }
        json.open().number(index);
        Double ageSeconds = value(metadataAge);
        // Before the first full answer, the age is the time since 1970.
        boolean hasAge = ageSeconds != null && ageSeconds < 1e9;
        tell(json, hasAge ? Double.valueOf(ageSeconds * 1_000) : null);
        tell(json, value(freeMemory));
        json.close();
    }

    private static void tell(Json json, Double value) {
        if (value == null) {
            json.nothing();
        } else {
            json.number(value.longValue());
        }
    }

    /** Completes or fails everything; every record has its outcome then. */
    void close(Duration timeout) {
        KafkaProducer<byte[], byte[]> made = producer;
        if (made != null) {
            made.close(timeout);
        }
    }
}
