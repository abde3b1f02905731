package io.kafkachaos.client;

/**
 * Due times of an open loop, in microseconds since the group became active: those of the native load ({@code src/load/arrivals.rs}).
 * Computed from the schedule alone; nothing that happens to a record changes when the next one is due, and none is ever skipped.
 */
abstract class DueTimes {
    /** When the next record is due; every call goes on to the one after it. */
    abstract long nextMicros();

    /** The same schedule, begun so much later. */
    DueTimes startingAt(long startMicros) {
        DueTimes schedule = this;
        return new DueTimes() {
            @Override
            long nextMicros() {
                return startMicros + schedule.nextMicros();
            }
        };
    }

    /** Record {@code i} is due at {@code (phase + i) / rate}; the producers of a group are spread over one interval. */
    static DueTimes constant(double ratePerSecond, int producer, int count) {
        double phase = (double) producer / Math.max(1, count);
        return new DueTimes() {
            private long index;

            @Override
            long nextMicros() {
                return Math.round((phase + (double) index++) / ratePerSecond * 1e6);
            }
        };
    }

    /** Gaps of {@code -ln(u) / rate}, summed up in seconds; the first record is due after the first gap. */
    static DueTimes poisson(double ratePerSecond, byte[] seed) {
        ChaCha12 random = new ChaCha12(seed);
        return new DueTimes() {
            private double atSeconds;

            @Override
            long nextMicros() {
                // 53 random bits, moved from [0, 1) to (0, 1], so that the logarithm is finite.
                double uniform = (double) ((random.nextLong() >>> 11) + 1) / (double) (1L << 53);
                atSeconds += -StrictMath.log(uniform) / ratePerSecond;
                return Math.round(atSeconds * 1e6);
            }
        };
    }
}
