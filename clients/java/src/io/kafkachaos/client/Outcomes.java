package io.kafkachaos.client;

import java.util.Arrays;

/**
 * Outcomes of one client's records until they are told: {@value #COLUMNS} numbers a record, no object each. Written by the client's own
 * thread and by senders, emptied by the {@link Reporter}.
 */
final class Outcomes {
    /** Sender, topic, partition, due, sent, known, error, sequence. */
    static final int COLUMNS = 8;
    /** In place of an error: the record was acknowledged. */
    static final long OK = 0;
    /** In place of an error: its sender has waited for long enough; its outcome may still come. */
    static final long GIVEN_UP = -1;
    /** In place of a partition: the client did not take the record. */
    static final long NOT_TAKEN = -1;

    private final Time time;
    private long[] cells = new long[64 * COLUMNS];
    private int used;

    Outcomes(Time time) {
        this.time = time;
    }

    /** Known from now on. Now is read where nobody takes: what became known before a moment is there for whoever takes after it. */
    synchronized void add(int sender, int topic, long partition, long due, long sent, long error, long sequence) {
        if (used == cells.length) {
            cells = Arrays.copyOf(cells, cells.length * 2);
        }
        cells[used++] = sender;
        cells[used++] = topic;
        cells[used++] = partition;
        cells[used++] = due;
        cells[used++] = sent;
        cells[used++] = time.nowMicros();
        cells[used++] = error;
        cells[used++] = sequence;
    }

    /** Takes what is there. */
    synchronized long[] take() {
        if (used == 0) {
            return new long[0];
        }
        long[] taken = Arrays.copyOf(cells, used);
        used = 0;
        return taken;
    }
}
