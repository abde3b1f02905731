package io.kafkachaos.client;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** All senders and clients of the group, and its end. */
final class Group {
    /** Most outcomes that may wait to be told; what does not fit is counted. */
    static final long HELD_MAX = 1_000_000;
    /** Until all senders have surely seen a new end. */
    private static final long SOON_MICROS = 10_000;
    /** How long senders may take to end once their clients are closed. */
    private static final long LAST_TURN_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** How long clients may take to close once the drain is over; one that still does is left, and its records are told of by nobody. */
    private static final long CLOSE_NANOS = TimeUnit.SECONDS.toNanos(2);

    final Settings settings;
    final Time time;
    /** From the start of {@code steady} to the moment at which the group became active; negative if that was before. */
    final long activeSinceSteady;
    final Errors errors = new Errors();
    final Lateness lateness = new Lateness();
    final Waits waits = new Waits();
    /** Outcomes that wait to be told, and those that did not fit. */
    final AtomicLong held = new AtomicLong();
    final AtomicLong untold = new AtomicLong();
    final List<Client> clients = new ArrayList<>();
    final List<Sender> senders = new ArrayList<>();
    /** No record is due at or after it. */
    volatile long end;
    /** What is due and not handed over by now never will be. */
    volatile boolean givesUp;

    Group(Settings settings, Time time, long activeSinceSteady, long end) {
        this.settings = settings;
        this.time = time;
        this.activeSinceSteady = activeSinceSteady;
        this.end = end;
        for (int client = 0; client < settings.clients(); client++) {
            clients.add(new Client(this, client));
        }
        for (int producer = 0; producer < settings.producers; producer++) {
            senders.add(new Sender(this, clients.get(producer / settings.share), producer));
        }
    }

    String clientId(int client) {
        return settings.group + "-" + client;
    }

    void start() {
        senders.forEach(sender -> sender.thread.start());
    }

    /** Moves the end to {@code micros}, if that is earlier, but not into the past: what was sent by now was due. */
    synchronized void stopAt(long micros) {
        long before = end;
        if (micros >= before) {
            return;
        }
        // Senders read the end without the lock. If the present has passed it by the time that it is written, one of them may have sent what
        // is due behind it meanwhile.
        do {
            end = Math.min(before, Math.max(micros, time.nowMicros() + SOON_MICROS));
        } while (end < before && time.nowMicros() >= end);
        wakeSenders();
    }

    /** The present moment, and the end as it was set by then: one that is set later lies after it. */
    synchronized long[] presentAndEnd() {
        return new long[] {time.nowMicros(), end};
    }

    /** Waits, at most so long, until all due records are handed over and their outcomes known; then closes every client. */
    void finish(long drainMillis) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(drainMillis);
        stopAt(time.nowMicros());
        // Without any drain too, what is due by the end that this has set is sent.
        awaitSenders(Math.max(deadline, System.nanoTime() + TimeUnit.MICROSECONDS.toNanos(2 * SOON_MICROS)));
        givesUp = true;
        wakeSenders();
        List<Thread> closing = new ArrayList<>();
        for (Client client : clients) {
            Duration left = Duration.ofNanos(Math.max(0, deadline - System.nanoTime()));
            Thread thread = new Thread(() -> client.close(left), "close-" + client.index);
            thread.setDaemon(true);
            thread.start();
            closing.add(thread);
        }
        await(closing, deadline + CLOSE_NANOS);
        awaitSenders(System.nanoTime() + LAST_TURN_NANOS);
    }

    private void awaitSenders(long deadline) throws InterruptedException {
        await(senders.stream().map(sender -> sender.thread).toList(), deadline);
    }

    private static void await(List<Thread> threads, long deadline) throws InterruptedException {
        for (Thread thread : threads) {
            long millis = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
            if (millis > 0) {
                thread.join(millis);
            }
        }
    }

    private void wakeSenders() {
        senders.forEach(sender -> LockSupport.unpark(sender.thread));
    }
}
