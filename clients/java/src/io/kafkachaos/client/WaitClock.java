package io.kafkachaos.client;

import java.util.function.LongSupplier;

/**
 * A client's clock of the time that sends have waited for something, looked at before a {@code send} and after it: waits of other sends,
 * however short, are not this one's.
 */
final class WaitClock {
    private final LongSupplier micros;
    private long before;

    /** @param micros its reading, or {@link Client#UNKNOWN} */
    WaitClock(LongSupplier micros) {
        this.micros = micros;
    }

    /** A {@code send} begins. */
    void begin() {
        before = micros.getAsLong();
    }

    /** How far it has moved since then, at most {@code limit}; one that is not there does not move. */
    long moved(long limit) {
        long now = micros.getAsLong();
        return now == Client.UNKNOWN ? 0 : Math.min(limit, now - Math.max(0, before));
    }
}
