package io.kafkachaos.client;

import java.util.ArrayList;
import java.util.List;

/** Sends that had to wait, since they were last told. There are few: a sender has one at a time, and each took a millisecond at least. */
final class Waits {
    static final int METADATA = 0;
    static final int MEMORY = 1;
    /** Shorter waits are not told. */
    private static final long SHORTEST_MICROS = 1_000;

    private List<long[]> waits = new ArrayList<>();

    /** @param tookMicros until it was through, or gave up */
    synchronized void add(int client, int on, long at, long tookMicros, boolean wasSatisfied) {
        if (tookMicros >= SHORTEST_MICROS) {
            waits.add(new long[] {client, on, at, tookMicros, wasSatisfied ? 1 : 0});
        }
    }

    synchronized void tell(Json json) {
        if (waits.isEmpty()) {
            return;
        }
        json.name("waits").open();
        for (long[] wait : waits) {
            json.open();
            for (long number : wait) {
                json.number(number);
            }
            json.close();
        }
        json.close();
        waits = new ArrayList<>();
    }
}
