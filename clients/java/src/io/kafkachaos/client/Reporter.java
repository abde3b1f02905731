package io.kafkachaos.client;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * Tells what happened, fifty times a second while something does: outcomes, counts of hand-overs, what the clients said of metadata; once a
 * second also what only has a present value. A line with {@code t} tells all outcomes and all of metadata until {@code t[0]}, together with the
 * lines before it, and nothing that happened after {@code t[1]}. In each line, outcomes are read first and hand-overs then, so that no record
 * has an outcome that was not sent; last of all which clients there are, so that nothing is told of one that is not.
 */
final class Reporter implements Runnable {
    private static final long PAUSE_MILLIS = 20;
    /** Longest silence: whoever listens sees that this program is alive. */
    private static final long SILENCE_MICROS = 200_000;
    /** As many as make a line about full. */
    private static final int RECORDS_PER_LINE = 1_000;
    private static final long SECOND_MICROS = TimeUnit.SECONDS.toMicros(1);
    /** Ticks of the kernel's clock in /proc are 10 ms on every architecture that Linux runs on today. */
    private static final long TICK_MICROS = 10_000;

    private final Group group;
    private final Output output;
    private final long[] sentTold;
    private long secondTold = Long.MIN_VALUE;
    private long timeTold = Long.MIN_VALUE;
    private long endTold;
    private volatile boolean isOver;

    Reporter(Group group, Output output) {
        this.group = group;
        this.output = output;
        this.endTold = group.end;
        this.sentTold = new long[group.senders.size()];
    }

    @Override
    public void run() {
        while (!isOver) {
            tell(false);
            try {
                Thread.sleep(PAUSE_MILLIS);
            } catch (InterruptedException stop) {
                isOver = true;
            }
        }
    }

    /** Ends {@link #run}; {@link #tellLast} is for when it has ended. */
    void stop() {
        isOver = true;
    }

    /** Tells what is left, as the program's last line. */
    void tellLast() {
        tell(true);
    }

    private void tell(boolean isLast) {
        long until = group.time.nowMicros();
        for (Client client : group.clients) {
            tellRecords(client.outcomes.take());
        }
        Json json = whatCameBefore();
        json = tellAll(json, "waits", group.waits::tell);
        json = tellAll(json, "late", group.lateness::tell);
        long untold = group.untold.getAndSet(0);
        if (untold > 0) {
            json.name("untold").number(untold);
        }
        long second = Math.floorDiv(until + group.activeSinceSteady, SECOND_MICROS);
        if (second != secondTold || isLast) {
            secondTold = second;
            tellPresent(json, until);
        }
        tellMade(json);
        if (isLast) {
            json.name("last").number(1);
        }
        long[] presentAndEnd = group.presentAndEnd();
        if (presentAndEnd[1] != endTold) {
            endTold = presentAndEnd[1];
            json.name("end").number(endTold);
        }
        if (!json.isEmpty() || until - timeTold >= SILENCE_MICROS) {
            timeTold = until;
            output.write(json.name("t").open().number(until).number(presentAndEnd[0]).close());
        }
    }

    private void tellRecords(long[] cells) {
        int stride = RECORDS_PER_LINE * Outcomes.COLUMNS;
        for (int from = 0; from < cells.length; from += stride) {
            Json json = whatCameBefore();
            tellMade(json);
            json.name("records").open();
            int to = Math.min(cells.length, from + stride);
            for (int record = from; record < to; record += Outcomes.COLUMNS) {
                json.open();
                for (int column = 0; column < Outcomes.COLUMNS; column++) {
                    json.number(cells[record + column]);
                }
                json.close();
            }
            output.write(json.close());
        }
        group.held.addAndGet(-cells.length / Outcomes.COLUMNS);
    }

    /** Tells a list that may be long, in as many lines as it takes; returns the last one, which has room for more. */
    private Json tellAll(Json begun, String name, Predicate<Json> tellMore) {
        Json json = begun.list(name);
        while (tellMore.test(json)) {
            tellMade(json.endList());
            output.write(json);
            json = new Json().list(name);
        }
        return json.endList();
    }

    private void tellMade(Json json) {
        json.list("made");
        group.clients.forEach(client -> client.tellMade(json));
        json.endList();
    }

    /** A line with what is to be told with records or before them: their errors, what was said of metadata, that they were sent. */
    private Json whatCameBefore() {
        Json errors = new Json();
        group.errors.tell(errors);
        Json json = tellAll(errors, "metadata", line -> group.clients.stream().anyMatch(client -> client.metadata.tell(line)));
        long lost = group.clients.stream().mapToLong(client -> client.metadata.takeLost()).sum();
        if (lost > 0) {
            json.name("metadata_lost").number(lost);
        }
        json.list("sent");
        for (Sender sender : group.senders) {
            long sent = sender.sent();
            if (sent != sentTold[sender.producer]) {
                sentTold[sender.producer] = sent;
                json.open().number(sender.producer).number(sent).close();
            }
        }
        return json.endList();
    }

    private void tellPresent(Json json, long now) {
        // Also without any: that says that none is blocked any more.
        json.name("blocked").open();
        group.senders.forEach(sender -> sender.tellBlocked(json, now));
        json.close().name("clients").open();
        group.clients.forEach(client -> client.tellFigures(json));
        json.close();
        tellProcess(json);
    }

    /** CPU time in microseconds, resident memory in bytes, threads: from /proc, as the kernel counts them. */
    private static void tellProcess(Json json) {
        try {
            String stat = Files.readString(Path.of("/proc/self/stat"));
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
            long cpuMicros = (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) * TICK_MICROS;
            long threads = Long.parseLong(fields[17]);
            for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
                if (line.startsWith("VmRSS:")) {
                    long residentBytes = Long.parseLong(line.replaceAll("[^0-9]", "")) * 1_024;
                    json.name("process").open().number(cpuMicros).number(residentBytes).number(threads).close();
                }
            }
        } catch (IOException unknown) {
            // No such files, or no such line: the figures stay unknown.
        }
    }
}
