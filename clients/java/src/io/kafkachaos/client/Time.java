package io.kafkachaos.client;

/** Time since the group became active, in microseconds: what all due times and stamps of this program count in. */
final class Time {
    private final long activeFromNanos;

    /** @param activeFromNanos as {@link System#nanoTime} counts, which on Linux is the machine's monotonic clock */
    Time(long activeFromNanos) {
        this.activeFromNanos = activeFromNanos;
    }

    long nowMicros() {
        return Math.floorDiv(System.nanoTime() - activeFromNanos, 1_000L);
    }

    long nanosUntil(long micros) {
        return activeFromNanos + micros * 1_000L - System.nanoTime();
    }
}
