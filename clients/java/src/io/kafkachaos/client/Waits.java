package io.kafkachaos.client;

import java.util.ArrayDeque;
import java.util.Queue;

/** Sends that had to wait, since they were last told. There are few: a sender has one at a time, and each took a millisecond at least. */
final class Waits {
    static final int METADATA = 0;
    static final int MEMORY = 1;
    /** Shorter waits are not told. */
    private static final long SHORTEST_MICROS = 1_000;

    private final Queue<long[]> waits = new ArrayDeque<>();

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
