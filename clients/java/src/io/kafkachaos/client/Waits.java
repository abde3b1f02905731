package io.kafkachaos.client;

import java.util.ArrayDeque;
import java.util.Queue;
import org.apache.kafka.clients.producer.BufferExhaustedException;
import org.apache.kafka.common.errors.TimeoutException;

/** Sends that had to wait, since they were last told. There are few: a sender has one at a time, and each took a millisecond at least. */
final class Waits {
    static final int METADATA = 0;
    static final int MEMORY = 1;
    /** Shorter waits are not told. */
    private static final long SHORTEST_MICROS = 1_000;

    private final Queue<long[]> waits = new ArrayDeque<>();

    /**
     * The waits of one {@code send}, from the client's own clocks. That for memory counts waits in vain too, that for metadata does not.
     *
     * @param refusal why the record was not taken; {@code null}: it was
     */
    void ofSend(int client, long at, long tookMicros, long onMetadata, long onMemory, Throwable refusal) {
        add(client, METADATA, at, onMetadata, true);
        if (refusal instanceof BufferExhaustedException) {
            add(client, MEMORY, at, tookMicros - onMetadata, false);
            return;
        }
        add(client, MEMORY, at, onMemory, refusal == null);
        if (refusal instanceof TimeoutException) {
            add(client, METADATA, at, tookMicros - onMetadata - onMemory, false);
        }
    }

    /** @param tookMicros until it was through, or gave up */
    synchronized void add(int client, int on, long at, long tookMicros, boolean wasSatisfied) {
        if (tookMicros >= SHORTEST_MICROS) {
            waits.add(new long[] {client, on, at, tookMicros, wasSatisfied ? 1 : 0});
        }
    }

    /** Writes them into a list, as far as the line has room; whether there are more. */
    synchronized boolean tell(Json json) {
        while (!waits.isEmpty() && !json.isFull()) {
            json.open();
            for (long number : waits.remove()) {
                json.number(number);
            }
            json.close();
        }
        return !waits.isEmpty();
    }
}
