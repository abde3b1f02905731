package io.kafkachaos.client;

import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * One producer's loop, on a thread of its own: {@code send} blocks the thread that calls it (for metadata, for memory), and must not hold up
 * any other producer. A sender never skips a record: after a block it hands over all that became due meanwhile.
 */
final class Sender implements Runnable {
    /** A {@code send} that takes longer is asked whether it has waited for something. */
    private static final long BLOCKED_MICROS = 1_000;
    private static final long STACK_BYTES = 256 << 10;
    /** No record is being handed over. */
    static final long IDLE = Long.MIN_VALUE;

    final Group group;
    final Client client;
    final int producer;
    final boolean waitsForOutcome;
    final Thread thread;
    private final Payload payload;
    private long sequence;
    private boolean isBehind;
    /** Why the record that is being handed over was not taken. */
    private Throwable refusal;
    private final WaitClock metadataWait;
    private final WaitClock memoryWait;
    /** Records handed over: {@code send} was called. Written by this thread alone. */
    private volatile long sent;
    private volatile long inSendDue = IDLE;
    private volatile long inSendSince;
    private volatile int inSendTopic;

    Sender(Group group, Client client, int producer) {
        this.group = group;
        this.client = client;
        this.producer = producer;
        Settings settings = group.settings;
        this.waitsForOutcome = settings.load == Settings.Load.CLOSED;
        this.payload = new Payload(settings.valueBytes, settings.keys, settings.seed, settings.group, producer);
        this.metadataWait = new WaitClock(client::metadataWaitMicros);
        this.memoryWait = new WaitClock(client::memoryWaitMicros);
        this.thread = new Thread(null, this, "sender-" + producer, STACK_BYTES);
        this.thread.setDaemon(true);
    }

    @Override
    public void run() {
        switch (group.settings.load) {
            case OPEN -> runOpen(group.settings.dueTimes(producer));
            case MAX -> runMax();
            case CLOSED -> runClosed();
        }
    }

    private void runOpen(DueTimes times) {
        for (long due = times.nextMicros(); waitUntil(due); due = times.nextMicros()) {
            long now = group.time.nowMicros();
            if (!isBehind) {
                group.lateness.note(now - due);
            }
            handOver(due, now);
        }
    }

    private void runMax() {
        if (!waitUntil(group.settings.startMicros(producer))) {
            return;
        }
        for (long now = group.time.nowMicros(); !isOver(now); now = group.time.nowMicros()) {
            handOver(now, now);
        }
    }

    /** A record is due when it is sent; marks of one sender differ, so the next is due a microsecond later at least. */
    private void runClosed() {
        if (!waitUntil(group.settings.startMicros(producer))) {
            return;
        }
        long due = group.time.nowMicros();
        while (!isOver(due)) {
            Delivery delivery = handOver(due, due);
            waitForOutcome(delivery, due + group.settings.waitMicros);
            long next = due + Math.max(group.settings.everyMicros, 1);
            if (!waitUntil(next)) {
                return;
            }
            due = Math.max(group.time.nowMicros(), next);
        }
    }

    private void waitForOutcome(Delivery delivery, long giveUpAt) {
        while (!delivery.isKnown()) {
            long nanos = group.time.nanosUntil(giveUpAt);
            if (nanos <= 0) {
                delivery.giveUp();
                return;
            }
            LockSupport.parkNanos(nanos);
        }
    }

    /** Sleeps until a record is due; {@code false}: it is not due any more, the load ends before. */
    private boolean waitUntil(long due) {
        while (!isOver(due)) {
            long nanos = group.time.nanosUntil(due);
            if (nanos <= 0) {
                return true;
            }
            isBehind = false;
            LockSupport.parkNanos(nanos);
        }
        return false;
    }

    private boolean isOver(long due) {
        return due >= group.end || group.givesUp;
    }

    private Delivery handOver(long due, long now) {
        int topics = group.settings.topics.size();
        int topic = (int) (sequence % topics);
        byte[] key = payload.key(sequence / topics);
        byte[] value = payload.value(sequence, due + group.activeSinceSteady);
        Delivery delivery = new Delivery(this, topic, sequence, due, now);
        sequence++;
        refusal = null;
        boolean wasMade = client.isMade();
        metadataWait.begin();
        memoryWait.begin();
        sent++;
        inSendTopic = topic;
        inSendSince = now;
        inSendDue = due;
        try {
            client.send(new ProducerRecord<>(group.settings.topics.get(topic), key, value), delivery);
        } catch (RuntimeException refused) {
            delivery.thrown(refused);
        }
        inSendDue = IDLE;
        long returned = group.time.nowMicros();
        if (returned - now >= BLOCKED_MICROS && (hasWaited(returned, returned - now) || !wasMade)) {
            isBehind = true;
        }
        return delivery;
    }

    /** Called on this thread, out of {@code send}. */
    void refused(Throwable error) {
        refusal = error;
    }

    /**
     * Whether the client has held up a {@code send} that took its time: by its own clocks of such waits, or because it ended with a refusal.
     * Without either, this thread was not run, or the JVM paused: that is this program's own lateness.
     */
    private boolean hasWaited(long at, long took) {
        long onMetadata = metadataWait.moved(took);
        long onMemory = memoryWait.moved(took - onMetadata);
        if (group.settings.share == 1) {
            group.waits.ofSend(client.index, at, took, onMetadata, onMemory, refusal);
        }
        return refusal != null || onMetadata + onMemory >= BLOCKED_MICROS;
    }

    long sent() {
        return sent;
    }

    /** Writes the record that is stuck in {@code send}, if there is one. */
    void tellBlocked(Json json, long now) {
        long due = inSendDue;
        if (due != IDLE && now - inSendSince >= BLOCKED_MICROS) {
            json.open().number(producer).number(inSendTopic).number(due).close();
        }
    }
}
