package io.kafkachaos.client;

import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** One {@link KafkaProducer}, made when the first of its senders has a record due. */
final class Client {
    final int index;
    final Outcomes outcomes = new Outcomes();
    final MetadataLog metadata;
    private final Group group;
    private volatile KafkaProducer<byte[], byte[]> producer;
    private long madeAt;
    private boolean isMadeTold;
    private Metric metadataWait;
    private Metric memoryWait;
    private Metric metadataAge;
    private Metric freeMemory;

    Client(Group group, int index) {
        this.group = group;
        this.index = index;
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

    private synchronized KafkaProducer<byte[], byte[]> makeOnce() {
        if (producer == null) {
            madeAt = group.time.nowMicros();
            KafkaProducer<byte[], byte[]> made = make(group.settings, group.clientId(index), new Properties());
            metadataWait = metric(made, "metadata-wait-time-ns-total");
            memoryWait = metric(made, "bufferpool-wait-time-ns-total");
            metadataAge = metric(made, "metadata-age");
            freeMemory = metric(made, "buffer-available-bytes");
            producer = made;
        }
        return producer;
    }

    private static Metric metric(KafkaProducer<byte[], byte[]> producer, String name) {
        return producer.metrics().values().stream()
            .filter(metric -> metric.metricName().name().equals(name) && metric.metricName().group().equals("producer-metrics"))
            .findFirst()
            .orElse(null);
    }

    /** Time that all sends of this client together have waited for metadata; 0 where the client does not tell. */
    long metadataWaitMicros() {
        return nanos(metadataWait) / 1_000;
    }

    /** The same for memory. */
    long memoryWaitMicros() {
        return nanos(memoryWait) / 1_000;
    }

    private static long nanos(Metric metric) {
        Double value = value(metric);
        return value == null ? 0 : value.longValue();
    }

    private static Double value(Metric metric) {
        Object value = metric == null ? null : metric.metricValue();
        return value instanceof Double && !((Double) value).isNaN() ? (Double) value : null;
    }

    /** Writes when the client was made, once. */
    synchronized void tellMade(Json json) {
        if (producer != null && !isMadeTold) {
            json.open().number(index).number(madeAt).close();
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
